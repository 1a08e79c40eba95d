package main

import (
	"encoding/json"
	"os"

	"github.com/Masterminds/semver/v3"
	flux "sluice.dev/testbed/semver330/v3"
)

func init() {
	commands["semver"] = judgeVersions
}

// semverCase pairs a constraint with a version to judge and another version to order it with.
type semverCase struct {
	Constraint string `json:"constraint"`
	Version    string `json:"version"`
	Other      string `json:"other"`
}

// semverVerdict holds null where a text is refused. A verdict is "valid" where the constraint parses and
// the version does not.
type semverVerdict struct {
	Version *string `json:"version"`
	Strict  bool    `json:"strict"`
	Order   *int    `json:"order"`
	Helm    any     `json:"helm"`
	Flux    any     `json:"flux"`
}

// judgeVersions answers with Masterminds/semver 3.5 (as Helm) and 3.3 (as Flux's source selection).
func judgeVersions() error {
	var cases []semverCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	verdicts := make([]semverVerdict, len(cases))
	for i, c := range cases {
		verdicts[i] = judgeVersion(c)
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

func judgeVersion(c semverCase) semverVerdict {
	var verdict semverVerdict
	version, err := semver.NewVersion(c.Version)
	if err == nil {
		text := version.String()
		verdict.Version = &text
	}
	_, strictErr := semver.StrictNewVersion(c.Version)
	verdict.Strict = strictErr == nil
	if other, otherErr := semver.NewVersion(c.Other); err == nil && otherErr == nil {
		order := version.Compare(other)
		verdict.Order = &order
	}
	if constraint, constraintErr := semver.NewConstraint(c.Constraint); constraintErr == nil {
		verdict.Helm = "valid"
		if err == nil {
			verdict.Helm = constraint.Check(version)
		}
	}
	if constraint, constraintErr := flux.NewConstraint(c.Constraint); constraintErr == nil {
		verdict.Flux = "valid"
		if pinned, pinnedErr := flux.NewVersion(c.Version); pinnedErr == nil {
			verdict.Flux = constraint.Check(pinned)
		}
	}
	return verdict
}
