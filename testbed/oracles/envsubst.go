package main

import (
	"encoding/json"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/fluxcd/pkg/envsubst"
)

func init() {
	commands["envsubst"] = substituteTexts
}

// envsubstCase is a text with the variables to substitute in it.
type envsubstCase struct {
	Text   string            `json:"text"`
	Vars   map[string]string `json:"vars"`
	Strict bool              `json:"strict"`
}

// envsubstAnswer holds the result or the error's text; Panic says that the library crashed, Invalid that
// the result is not UTF-8.
type envsubstAnswer struct {
	Out     string `json:"out"`
	Error   string `json:"error"`
	Panic   bool   `json:"panic"`
	Invalid bool   `json:"invalid"`
}

// substituteTexts answers as Flux's variable substitution does, without its checks of names.
func substituteTexts() error {
	var cases []envsubstCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	answers := make([]envsubstAnswer, len(cases))
	for i, c := range cases {
		answers[i] = substituteText(c)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func substituteText(c envsubstCase) (answer envsubstAnswer) {
	defer func() {
		if problem := recover(); problem != nil {
			answer = envsubstAnswer{Panic: true, Error: fmt.Sprint(problem)}
		}
	}()
	out, err := envsubst.Eval(c.Text, func(name string) (string, bool) {
		value, exists := c.Vars[name]
		return value, exists || !c.Strict
	})
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	answer.Out = out
	answer.Invalid = !utf8.ValidString(out)
	return answer
}
