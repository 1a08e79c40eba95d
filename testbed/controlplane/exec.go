package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// execUsage explains the subcommand.
const execUsage = `usage: control-plane exec [--log FILE] [--grace DURATION] -- PROGRAM [ARGUMENTS]

Runs a program that does not outlive the caller: its process group gets SIGTERM when standard input ends,
SIGKILL after the grace period, and the program SIGKILL at once when this process is killed. SIGTERM, SIGINT
and SIGHUP are passed on; so is each signal that a line of standard input names: TERM, INT, HUP, KILL, STOP,
CONT, USR1, USR2. The program's own standard input is empty.
With --log, what the program writes is appended to FILE, and standard output carries two lines of JSON:
{"pid": N} once it runs, and {"code": N} or {"signal": N} once it has ended.
The exit code is the program's, or 128 plus the signal that ended it.`

// namedSignals are the signals that standard input can ask for.
var namedSignals = map[string]os.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
	"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}

// signalGroup signals a program and what it started; it leads a process group of its own.
func signalGroup(pid int, number syscall.Signal) {
	_ = syscall.Kill(-pid, number)
}

// runExec is the subcommand exec.
func runExec(arguments []string) int {
	flags := flag.NewFlagSet("exec", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(os.Stderr, execUsage) }
	log := flags.String("log", "", "file to which the program's output is appended")
	grace := flags.Duration("grace", 10*time.Second, "time between SIGTERM and SIGKILL")
	if err := flags.Parse(arguments); err != nil || flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	program := exec.Command(flags.Arg(0), flags.Args()[1:]...)
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	program.Stdout, program.Stderr = os.Stdout, os.Stderr
	if *log != "" {
		output, err := os.OpenFile(*log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			fmt.Fprintln(os.Stderr, "exec:", err)
			return 2
		}
		program.Stdout, program.Stderr = output, output
	}

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := program.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "exec:", err)
		return 127
	}
	report := json.NewEncoder(os.Stdout)
	if *log != "" {
		_ = report.Encode(map[string]int{"pid": program.Process.Pid})
	}
	ended := make(chan struct{})
	go func() {
		_ = program.Wait()
		close(ended)
	}()
	inputEnded := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			if named, known := namedSignals[strings.TrimSpace(lines.Text())]; known {
				signals <- named
			}
		}
		close(inputEnded)
	}()

	var kill <-chan time.Time
	for running := true; running; {
		select {
		case received := <-signals:
			if number, known := received.(syscall.Signal); known {
				signalGroup(program.Process.Pid, number)
			}
		case <-inputEnded:
			inputEnded = nil
			signalGroup(program.Process.Pid, syscall.SIGTERM)
			kill = time.After(*grace)
		case <-kill:
			signalGroup(program.Process.Pid, syscall.SIGKILL)
		case <-ended:
			running = false
		}
	}
	status, _ := program.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		if *log != "" {
			_ = report.Encode(map[string]int{"signal": int(status.Signal())})
		}
		return 128 + int(status.Signal())
	}
	if *log != "" {
		_ = report.Encode(map[string]int{"code": status.ExitStatus()})
	}
	return status.ExitStatus()
}
