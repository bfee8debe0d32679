/**
 * Goal: keys lead to a choice, with a server that responds late or not at all, and the terminal is
 * restored in any case.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import { browse } from "./browse.ts";
import { processTerminal, type Terminal, type TerminalListener } from "./terminal.ts";
import type { WorkspaceInfo } from "./tree-state.ts";

class FakeTerminal implements Terminal {
  readonly size = { columns: 60, rows: 12 };
  readonly hasColors = false;
  lines: readonly string[] = [];
  listener: TerminalListener | undefined;
  isOpen = false;

  open(listener: TerminalListener): () => void {
    this.listener = listener;
    this.isOpen = true;
    return () => {
      this.isOpen = false;
    };
  }

  show(lines: readonly string[]): void {
    this.lines = lines;
  }

  type(text: string): void {
    this.listener?.onText(text);
  }

  get tree(): string[] {
    return this.lines.slice(2, -2).filter((line) => line !== "");
  }
}

const facts = (name: string): WorkspaceInfo => ({
  name,
  type: undefined,
  cluster: undefined,
  isMount: false,
});

function start(current: string, known: Record<string, readonly string[]>) {
  const terminal = new FakeTerminal();
  const clock = new FakeClock();
  const asked: string[] = [];
  const chosen = browse({
    terminal,
    clock,
    current,
    below: async (path) => {
      asked.push(path);
      const names = known[path];
      if (names === undefined) throw new Error("not allowed");
      return names.map(facts);
    },
  });
  return { terminal, clock, asked, chosen };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe("browsing", () => {
  it("opens the selected workspaces, and ends with the chosen one", async () => {
    const { terminal, asked, chosen } = start("root", { root: ["a", "b"], "root:b": ["c"] });
    await turns();
    assert.deepEqual(terminal.tree, ["→ ▼ root", "    ▶ a", "    ▶ b"]);
    terminal.type("jjl");
    await turns();
    assert.deepEqual(terminal.tree, ["  ▼ root", "    ▶ a", "→   ▼ b", "      ▶ c"]);
    assert.deepEqual(asked, ["root", "root:b"]);
    terminal.type("j\r");
    assert.equal(await chosen, "root:b:c");
    assert.equal(terminal.isOpen, false);
  });

  it("shows the error beside a workspace whose children cannot be listed", async () => {
    const { terminal, chosen } = start("root:a", { "root:a": [] });
    await turns();
    assert.deepEqual(terminal.tree, ["  ▼ root  (not allowed)", "→     a"]);
    terminal.type("q");
    assert.equal(await chosen, undefined);
  });

  it("treats an escape as a key when no bytes follow for a moment, and not before", async () => {
    const { terminal, clock, chosen } = start("root", { root: ["a"] });
    await turns();
    terminal.type("\u001b");
    terminal.type("[B");
    clock.advance(1000);
    assert.equal(terminal.tree[1], "→   ▶ a");
    assert.equal(terminal.isOpen, true);
    terminal.type("\u001b");
    clock.advance(50);
    assert.equal(await chosen, undefined);
    assert.equal(terminal.isOpen, false);
  });

  it("finds workspaces that have not been opened", async () => {
    const { terminal, chosen } = start("root", {
      root: ["a"],
      "root:a": ["b"],
      "root:a:b": ["deep"],
      "root:a:b:deep": [],
    });
    await turns();
    terminal.type("/dee");
    await turns();
    assert.equal(terminal.tree.at(-1), "→         deep");
    terminal.type("\r");
    assert.equal(await chosen, "root:a:b:deep");
  });

  it("sends at most eight concurrent requests", async () => {
    const terminal = new FakeTerminal();
    let [now, most] = [0, 0];
    const names = Array.from({ length: 40 }, (_, at) => `w${at}`);
    const chosen = browse({
      terminal,
      clock: new FakeClock(),
      current: "root",
      below: async (path) => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setImmediate(resolve));
        now--;
        return path === "root" ? names.map(facts) : [];
      },
    });
    await turns();
    terminal.type("/w");
    await turns();
    terminal.type("\u0003");
    await chosen;
    assert.equal(most, 8);
  });

  it("ends when the terminal is closed, whatever the server does", async () => {
    const terminal = new FakeTerminal();
    const asking: AbortSignal[] = [];
    const chosen = browse({
      terminal,
      clock: new FakeClock(),
      current: "root",
      below: (_path, signal) => {
        asking.push(signal);
        return new Promise(() => {});
      },
    });
    terminal.listener?.onEnd();
    assert.equal(await chosen, undefined);
    assert.equal(terminal.isOpen, false);
    assert.ok(asking.every(({ aborted }) => aborted));
  });
});

describe("a missing terminal", () => {
  const streams = (stdin: boolean, stdout: boolean, TERM = "xterm") =>
    ({ stdin: { isTTY: stdin }, stdout: { isTTY: stdout }, env: { TERM } }) as never;

  it("is rejected with a message that names what is missing", () => {
    assert.throws(() => processTerminal(streams(false, true)), /standard input is none/);
    assert.throws(() => processTerminal(streams(true, false)), /standard output is none/);
    assert.throws(() => processTerminal(streams(true, true, "dumb")), /TERM says dumb/);
    processTerminal(streams(true, true));
  });
});
