package admission_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fieldlock/fieldlock/immutability/admission"
)

// patience is how long a test waits for an answer: far longer than it takes on a busy machine.
const patience = 2 * time.Minute

// TestSlowBody: a client that sends a part of a body and then nothing gets an answer, and its connection ends.
func TestSlowBody(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		handler      time.Duration // read timeout of the handler
		server       time.Duration // and of the server
		length       int
		media, sent  string
		status       int
		want         string
	}{
		{"large", "net/http gives up on a body that it would not read to its end", 50 * time.Millisecond, 0, 1_000_000_000, "application/json", `{"request":{"uid":"u",`, 200, `"uid":"u","allowed":false`},
		{"small", "net/http reads up to 256 KB of an unread body before it sends the answer", 50 * time.Millisecond, 0, 100_000, "application/json", `{"request":{"uid":"u",`, 200, `"uid":"u","allowed":false`},
		{"one byte", "not even a uid", 50 * time.Millisecond, 0, 100_000, "application/json", `{`, 408, "did not arrive"},
		{"the time of the server", "the handler does not lift it", time.Hour, time.Second, 100_000, "application/json", `{`, 408, "did not arrive"},
		{"a body that is not read", "net/http reads it all the same", 50 * time.Millisecond, 0, 100_000, "text/plain", `x`, 415, "Content-Type"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := slowServer(t, row.handler, row.server)
			server.Start()
			connection, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", row.media, row.length, row.sent)
			reader := bufio.NewReader(connection)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatalf("no answer: %v: %s", err, row.reason)
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			if response.StatusCode != row.status || !strings.Contains(string(body), row.want) {
				t.Errorf("%s: %s; want %d with %q: %s", response.Status, body, row.status, row.want, row.reason)
			}
			if _, err := reader.ReadByte(); err != io.EOF {
				t.Errorf("the connection stays: %v", err)
			}
		})
	}
}

// TestSlowBodyHTTP2 is the same over HTTP/2, where one stream must end and the connection stays.
func TestSlowBodyHTTP2(t *testing.T) {
	for _, row := range []struct {
		name, reason    string
		handler, server time.Duration
	}{
		{"handler", "its read timeout", 50 * time.Millisecond, 0},
		{"server", "the shorter one", time.Hour, 3 * time.Second}, // the handshake has to fit in, on a busy machine
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := slowServer(t, row.handler, row.server)
			server.EnableHTTP2 = true
			server.StartTLS()
			client := server.Client()
			client.Timeout = patience
			body, end := io.Pipe()
			defer end.Close()
			go func() { _, _ = end.Write([]byte(`{"request":{"uid":"u",`)) }()
			request, err := http.NewRequest(http.MethodPost, server.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			response, err := client.Do(request)
			if err != nil {
				t.Fatalf("no answer: %v: %s", err, row.reason)
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			if response.ProtoMajor != 2 || !strings.Contains(string(text), `"uid":"u","allowed":false`) {
				t.Errorf("%s %s: %s; want a refusal over HTTP/2: %s", response.Proto, response.Status, text, row.reason)
			}
		})
	}
}

// TestConnectionStays: the limit on one body does not cut the next request of a connection.
func TestConnectionStays(t *testing.T) {
	server := slowServer(t, 200*time.Millisecond, 0)
	server.Start()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(connection)
	body := (&reviewCase{}).body(t)
	for i := range 2 {
		if i == 1 {
			time.Sleep(300 * time.Millisecond) // longer than the limit, which has to be off
		}
		fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatalf("request %d: %v", i+1, err)
		}
		if answer := decodeAnswer(response.Body); !answer.Allowed {
			t.Errorf("request %d: %+v", i+1, answer)
		}
		response.Body.Close()
	}
}

func slowServer(t *testing.T, handlerTimeout, serverTimeout time.Duration) *httptest.Server {
	t.Helper()
	handler, err := admission.NewHandler(newRegistry(t), admission.WithReadTimeout(handlerTimeout))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ReadTimeout = serverTimeout
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}
