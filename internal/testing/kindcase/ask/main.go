// Command ask puts the cases of a file to a program that runs an operator's own validation, and writes the answers.
//
//	ask CASES PROGRAM ANSWERS
//
// PROGRAM reads the cases from its standard input, as a JSON list of {name, old, new}, and prints the answers: a JSON
// object with {refused, error} under each name; it leaves out kinds that it does not have. ANSWERS is a folder.
// hack/operators calls this command.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: ask CASES PROGRAM ANSWERS")
		os.Exit(2)
	}
	if err := ask(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "ask:", err)
		os.Exit(1)
	}
}

func ask(file, program, folder string) error {
	cases, err := kindcase.Read(filepath.Dir(file))
	if err != nil {
		return err
	}
	group := strings.TrimSuffix(filepath.Base(file), ".yaml") + "/"
	var questions []kindcase.Question
	for _, c := range cases {
		if strings.HasPrefix(c.Name, group) && !c.Manual {
			questions = append(questions, kindcase.Question{Name: c.Name, Old: c.Old, New: c.New})
		}
	}
	answers, err := kindcase.Ask(program, questions)
	if err != nil {
		return err
	}
	if len(answers) == 0 {
		return fmt.Errorf("%s answered none of %d cases", program, len(questions))
	}
	for name, answer := range answers {
		if strings.HasPrefix(answer.Error, "the old object: ") {
			return fmt.Errorf("%s: %s", name, answer.Error)
		}
	}
	fmt.Printf("%d of %d cases answered\n", len(answers), len(questions))
	return kindcase.WriteAnswers(folder, answers)
}
