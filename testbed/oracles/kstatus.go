package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/runtime/statusreaders"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func init() { commands["kstatus"] = runKstatus }

// assessment is what kstatus says about one object; Error is set instead when it could not tell.
type assessment struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Error   string `json:"error,omitempty"`
}

// runKstatus reads a JSON list of objects and prints two assessments of each: by kstatus alone, and as
// Flux's controllers see it (own rule for Jobs).
func runKstatus() error {
	objects, err := readObjects()
	if err != nil {
		return err
	}
	type answer struct {
		Kstatus assessment `json:"kstatus"`
		Flux    assessment `json:"flux"`
	}
	answers := make([]answer, 0, len(objects))
	for _, object := range objects {
		plain := assess(status.Compute(object))
		flux := plain
		if gvk := object.GroupVersionKind(); gvk.Group == "batch" && gvk.Kind == "Job" {
			result := statusreaders.ComputeJobStatus(object)
			flux = assess(&result, nil)
		}
		answers = append(answers, answer{Kstatus: plain, Flux: flux})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func assess(result *status.Result, err error) assessment {
	if err != nil {
		return assessment{Status: string(status.UnknownStatus), Error: err.Error()}
	}
	answer := assessment{Status: string(result.Status), Message: result.Message}
	if len(result.Conditions) > 0 {
		answer.Reason = result.Conditions[0].Reason
	}
	return answer
}

// readObjects decodes the JSON list on standard input as the API machinery does (integers stay integers).
func readObjects() ([]*unstructured.Unstructured, error) {
	var buffer bytes.Buffer
	if _, err := buffer.ReadFrom(os.Stdin); err != nil {
		return nil, err
	}
	var list []interface{}
	if err := utiljson.Unmarshal(buffer.Bytes(), &list); err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, len(list))
	for _, item := range list {
		content, _ := item.(map[string]interface{})
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, nil
}
