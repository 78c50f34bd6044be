// The three editors: YAML with the refused lines marked.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, drawSelection, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const refusedLine = Decoration.line({ class: 'cm-refused-line' });
const setRefused = StateEffect.define();

// refusedLines holds the marks until the next verdict; typing moves them along.
const refusedLines = StateField.define({
  create: () => Decoration.none,
  update(marks, tr) {
    for (const effect of tr.effects) if (effect.is(setRefused)) return effect.value;
    return marks.map(tr.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--link)' },
  { tag: tags.comment, color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--allowed)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--unsure)' },
]);

// newEditor puts an editor into the element of that id; changed is called after each edit by the user.
export function newEditor(id, changed) {
  return new EditorView({
    parent: document.getElementById(id),
    extensions: [
      lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), lintGutter(), refusedLines,
      yaml(), syntaxHighlighting(colours), EditorState.tabSize.of(2),
      keymap.of([...defaultKeymap, ...historyKeymap]), // Tab moves on, so that the page works without a mouse
      EditorView.contentAttributes.of({ 'aria-labelledby': `${id}-label` }),
      EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
    ],
  });
}

export const textOf = (editor) => editor.state.doc.toString();

export function setText(editor, text) {
  editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
}

// mark shows messages on lines, [{line, message, severity}], and takes away those shown before.
export function mark(editor, found) {
  const { doc } = editor.state;
  const onLines = found.filter(({ line }) => line >= 1 && line <= doc.lines).sort((a, b) => a.line - b.line);
  const marks = new RangeSetBuilder();
  let last = 0;
  for (const { line, severity } of onLines) {
    if (severity === 'error' && line !== last) marks.add(doc.line(line).from, doc.line(line).from, refusedLine);
    last = line;
  }
  const diagnostics = onLines.map(({ line, message, severity }) => ({ from: doc.line(line).from, to: doc.line(line).to, severity, message }));
  editor.dispatch(setDiagnostics(editor.state, diagnostics), { effects: setRefused.of(marks.finish()) });
}

// goTo puts the cursor on a line and shows it.
export function goTo(editor, line) {
  const at = editor.state.doc.line(Math.min(Math.max(line, 1), editor.state.doc.lines)).from;
  editor.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
  editor.focus();
}
