/**
 * Goal: `kubectl ws -i` works in a terminal as people have one, changes the kubeconfig when
 * something was chosen, and gives the terminal back.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { connect, parseKubeconfig } from "@kcp-ts/sdk";
import { workspaces } from "@kcp-ts/sdk/kinds";
import { type KcpProcess, startKcp } from "./kcp-process.ts";

const program = fileURLToPath(
  new URL("../../../../packages/cli/bin/kubectl-ws.mjs", import.meta.url),
);
const hasScript = spawnSync("script", ["--version"]).status === 0;
const skip = hasScript ? false : "script of util-linux is not installed";

/** A program in a pseudo terminal of twelve rows, as `script` makes one. */
class PseudoTerminal {
  readonly #child: ChildProcess;
  readonly ended: Promise<unknown>;
  text = "";

  constructor(args: readonly string[], env: NodeJS.ProcessEnv) {
    const command = `stty rows 12 cols 70; exec '${process.execPath}' '${program}' ${args.join(" ")}`;
    this.#child = spawn("script", ["-qfec", command, "/dev/null"], {
      env: { ...env, TERM: "xterm", SHELL: "/bin/sh" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout?.on("data", (part: Buffer) => {
      this.text += part.toString("utf8");
    });
    this.ended = once(this.#child, "close");
  }

  get code(): number | null {
    return this.#child.exitCode;
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** What was drawn last. */
  get screen(): string {
    const at = this.text.lastIndexOf("\u001b[H");
    // Colors and what erases are not what is read.
    return this.text.slice(Math.max(0, at)).replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, "");
  }

  async shows(wanted: RegExp): Promise<string> {
    const deadline = Date.now() + 60_000;
    while (!wanted.test(this.screen)) {
      assert.ok(Date.now() < deadline, `${wanted} was never shown:\n${this.screen}`);
      assert.equal(this.code, null, `it has ended:\n${this.text}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return this.screen;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

describe("kubectl ws -i", { skip }, () => {
  let folder: string;
  let kcp: KcpProcess;
  let kubeconfig: string;

  const env = () => ({ ...process.env, KUBECONFIG: kubeconfig, HOME: folder });
  const refused = (...args: readonly string[]): Promise<string> =>
    new Promise((resolve) => {
      const end = (_: unknown, _stdout: string, stderr: string) => resolve(stderr);
      execFile(process.execPath, [program, ...args], { env: env() }, end).stdin?.end();
    });
  const started = (t: TestContext, ...args: readonly string[]) => {
    const terminal = new PseudoTerminal(args, env());
    t.after(() => terminal.kill());
    return terminal;
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "kcp-browser-"));
    kcp = await startKcp(join(folder, "root"));
    const text = await readFile(kcp.kubeconfig, "utf8");
    const connection = connect(parseKubeconfig(text, { trust: "inline" }));
    const make = (parent: string, name: string) =>
      connection.client.inCluster(parent).resource(workspaces).create({ metadata: { name } });
    await make("root", "acme");
    for (const name of ["bank", "shop"]) await make("root:acme", name);
    for (let at = 0; at < 12; at++) await make("root", `org-${String(at).padStart(2, "0")}`);
    await connection.close();
  });
  beforeEach(async () => {
    kubeconfig = join(folder, "kubeconfig");
    await copyFile(kcp.kubeconfig, kubeconfig);
  });
  after(async () => {
    await kcp.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("goes where enter is pressed, by arrows", async (t) => {
    const terminal = started(t, "-i");
    await terminal.shows(/→ ▼ root[\s\S]*acme/);
    terminal.type("\u001b[B\u001b[C");
    await terminal.shows(/→ {3}▼ acme[\s\S]*bank[\s\S]*shop/);
    terminal.type("\u001b[B\u001b[B");
    await terminal.shows(/root:acme:shop \| root:universal/);
    terminal.type("\r");
    await terminal.ended;
    assert.equal(terminal.code, 0);
    assert.match(terminal.text, /Current workspace is 'root:acme:shop' \(type root:universal\)\./);
    assert.match(await readFile(kubeconfig, "utf8"), /\/clusters\/root:acme:shop\b/);
  });

  it("scrolls through more than there is room for, and finds by name", async (t) => {
    const terminal = started(t, "tree", "-i");
    const first = await terminal.shows(/→ ▼ root[\s\S]*org-0/);
    assert.match(first, /\.\.\./);
    assert.doesNotMatch(first, /org-11/);
    terminal.type("G");
    assert.doesNotMatch(await terminal.shows(/→ .*org-11/), /acme/);
    terminal.type("/ban");
    await terminal.shows(/→ .*bank[\s\S]*\/ban▏ 1 found/);
    terminal.type("\r");
    await terminal.ended;
    assert.match(await readFile(kubeconfig, "utf8"), /\/clusters\/root:acme:bank\b/);
  });

  for (const [what, keys] of [
    ["q", "q"],
    ["escape", "\u001b"],
  ] as const) {
    it(`leaves everything as it was by ${what}, the terminal included`, async (t) => {
      const before = await readFile(kubeconfig, "utf8");
      const terminal = started(t, "-i");
      await terminal.shows(/→ ▼ root[\s\S]*acme/);
      terminal.type(keys);
      await terminal.ended;
      assert.equal(terminal.code, 0);
      assert.equal(await readFile(kubeconfig, "utf8"), before);
      // The cursor is seen again, and the screen is the one from before.
      assert.match(terminal.text, /\u001b\[\?25h\u001b\[\?1049l/);
    });
  }

  it("says that it needs a terminal when there is none", async () => {
    assert.match(
      await refused("-i"),
      /interactive mode needs a terminal, and standard input is none/,
    );
  });
});
