import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Command } from "commander";
import { verbs } from "../main.ts";
import { booleanFlag, durationFlag } from "./flags.ts";

describe("a boolean flag", () => {
  const parse = booleanFlag("--anonymous-auth");

  it("accepts the values of Go's ParseBool", () => {
    for (const text of ["1", "t", "T", "TRUE", "true", "True"]) assert.equal(parse(text), true);
    for (const text of ["0", "f", "F", "FALSE", "false", "False"]) assert.equal(parse(text), false);
  });

  it("rejects other values, and names the flag", () => {
    for (const text of ["", "no", "yes", "off", "fALSE", "tRUE", " true", "false ", "2", "-1"])
      assert.throws(() => parse(text), /^.*--anonymous-auth takes true or false\./, text);
  });

  it("is parsed this way in every command", () => {
    const program = new Command("kcp");
    for (const add of verbs) add(program);
    const flags = program.commands.flatMap(({ options }) =>
      options.filter((option) => option.flags.includes("<bool>")),
    );
    assert.ok(flags.length >= 6);
    for (const { long, parseArg, defaultValue } of flags) {
      assert.equal(typeof defaultValue, "boolean", `${long}`);
      assert.equal(parseArg?.("T", undefined), true, `${long}`);
      const says = new RegExp(`${long} takes true or false`);
      assert.throws(() => parseArg?.("maybe", undefined), says, `${long}`);
    }
  });
});

describe("a duration flag", () => {
  const parse = durationFlag("--event-ttl");

  it("accepts hours, minutes and seconds in Go's syntax", () => {
    assert.equal(parse("1h"), 3_600_000);
    assert.equal(parse("1h0m0s"), 3_600_000);
    assert.equal(parse("1h30m"), 5_400_000);
    assert.equal(parse("1s"), 1000);
  });

  it("rejects other values, and less than a second", () => {
    for (const text of ["", "1", "h", "-1h", "1.5h", "1d", "0s", `${"9".repeat(20)}h`]) {
      assert.throws(() => parse(text), /--event-ttl takes/, text);
    }
  });
});
