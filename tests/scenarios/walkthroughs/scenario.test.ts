import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPrinted, parseScenarios } from "./scenario.ts";

describe("a transcript", () => {
  it("is scenarios of commands with what they print", () => {
    const text = `
A1  the first
# for the reader
$ kubectl get a
NAME  AGE
~ kubectl get b
! error: no b

A2  the second
@ the lights go out
$ kubectl get c
!
`;
    const command = { kind: "command", isRepeated: false, fails: false };
    assert.deepEqual(parseScenarios(text), [
      {
        title: "A1 the first",
        steps: [
          { ...command, text: "kubectl get a", lines: ["NAME  AGE"] },
          {
            ...command,
            text: "kubectl get b",
            isRepeated: true,
            fails: true,
            lines: ["error: no b"],
          },
        ],
      },
      {
        title: "A2 the second",
        steps: [
          { kind: "cue", text: "the lights go out" },
          { ...command, text: "kubectl get c", fails: true, lines: [] },
        ],
      },
    ]);
  });

  it("is refused where it says something of no command", () => {
    assert.throws(() => parseScenarios("$ kubectl get a"), /no scenario before/);
    assert.throws(() => parseScenarios("A1  the first\nNAME"), /no command before/);
  });
});

describe("what is printed", () => {
  it("is what is wanted, line by line, with any blanks", () => {
    assert.ok(isPrinted(["NAME AGE", "a 1s"], "NAME   AGE \na      1s\n\n"));
    assert.ok(!isPrinted(["NAME AGE"], "NAME   AGE \na      1s\n"));
    assert.ok(!isPrinted(["NAME AGE", "a 1s", "b 1s"], "NAME AGE\na 1s\n"));
    assert.ok(!isPrinted(["a 1s"], "b 1s"));
  });

  it("may be any text where a star stands, in one line", () => {
    assert.ok(isPrinted(["a * [x]"], "a 12s [x]"));
    assert.ok(!isPrinted(["a * [x]"], "a 12s x"));
    assert.ok(!isPrinted(["a*"], "a\nb"));
  });

  it("may be any lines where three dots stand", () => {
    assert.ok(isPrinted(["...", "b", "..."], "a\nb\nc"));
    assert.ok(isPrinted(["...", "b", "..."], "b"));
    assert.ok(!isPrinted(["...", "b", "..."], "a\nc"));
    assert.ok(!isPrinted(["b", "..."], "a\nb"));
  });

  it("is nothing when nothing is wanted", () => {
    assert.ok(isPrinted([], "\n"));
    assert.ok(!isPrinted([], "a"));
  });
});
