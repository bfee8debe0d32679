import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Command, Option } from "commander";
import { verbs } from "../main.ts";
import { kcpPluginProgram } from "../workspace-plugin/index.ts";
import { complete } from "./complete.ts";

function kcp(): Command {
  const program = new Command("kcp");
  for (const add of verbs) add(program);
  return program;
}
const words = (program: Command, ...typed: readonly string[]) => complete(program, typed).words;

describe("completion", () => {
  it("offers subcommands, and no hidden ones", () => {
    assert.deepEqual(words(kcp(), "sta"), ["start", "standby", "status"]);
    assert.deepEqual(words(kcp(), "__"), []);
    assert.ok(words(kcp(), "").includes("doctor"));
  });

  it("offers flags of the subcommand, and values of a flag with choices", () => {
    assert.deepEqual(words(kcp(), "start", "--etcd-p"), ["--etcd-prefix", "--etcd-password"]);
    assert.deepEqual(words(kcp(), "start", "--storage", "e"), ["embedded", "etcd"]);
    assert.deepEqual(words(kcp(), "start", "--storage", "etcd", "--storage", ""), [
      "embedded",
      "memory",
      "etcd",
    ]);
  });

  it("leaves the value of a flag without choices to the shell, which offers files", () => {
    const program = new Command("x").addOption(new Option("-f, --file <path>"));
    assert.deepEqual(complete(program, ["-f", ""]), { words: [], mayBeFile: true });
    assert.deepEqual(complete(program, ["--file=a", "-"]).words, ["--file", "--help"]);
  });

  it("knows aliases of subcommands of a kubectl plug-in", () => {
    assert.deepEqual(words(kcpPluginProgram(), "ws", "t"), ["tree"]);
    assert.deepEqual(words(kcpPluginProgram(), "unc"), ["uncordon"]);
  });
});
