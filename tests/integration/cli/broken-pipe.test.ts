/**
 * Goal: a command whose output pipe is closed ends as other programs do, and missing files are
 * reported in words.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const binaries = ["kcp", "kubectl-kcp", "kubectl-ws", "kubectl-create-workspace"] as const;
const programOf = (name: string) =>
  fileURLToPath(new URL(`../../../../packages/cli/bin/${name}.mjs`, import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kcp-pipe-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** The named pipes are closed before the program has said anything. */
async function run(
  name: string,
  args: readonly string[],
  closed: readonly ("stdout" | "stderr")[] = [],
): Promise<Ended> {
  const env = { ...process.env, HOME: folder, KUBECONFIG: join(folder, "none") };
  const child = spawn(process.execPath, [programOf(name), ...args], { env });
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    if (closed.includes(stream)) child[stream].destroy();
    else child[stream].on("data", (bytes: Buffer) => (said[stream] += bytes.toString()));
  }
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, ...said };
}

describe("a command whose output pipe is closed", () => {
  for (const name of binaries) {
    it(`${name} ends without a word when its output is closed`, async () => {
      const { code, stderr } = await run(name, ["--help"], ["stdout"]);
      assert.deepEqual({ code, stderr }, { code: 141, stderr: "" });
    });

    it(`${name} ends likewise when its complaints are not read`, async () => {
      const { code } = await run(name, ["--no-such-flag"], ["stderr"]);
      assert.equal(code, 141);
    });
  }

  it("kcp start shuts down gracefully when the reader of its log closes the pipe", async () => {
    const root = join(folder, "root");
    const args = ["start", "--root-directory", root, "--secure-port", "0"];
    const { code, stdout } = await run("kcp", args, ["stderr"]);
    assert.deepEqual({ code, stdout }, { code: 141, stdout: "" });
    const again = await run("kcp", [
      "backup",
      "--root-directory",
      root,
      "--out",
      join(folder, "b"),
    ]);
    assert.equal(again.code, 0, again.stderr);
  });
});

describe("a file that is not there", () => {
  const missing: readonly (readonly [name: string, args: readonly string[]])[] = [
    ["kubectl-ws", ["tree"]],
    ["kubectl-kcp", ["crd", "snapshot", "--prefix", "x", "-f", "none"]],
    ["kcp", ["compat", "none", "none"]],
    ["kcp", ["restore", "--from", "none", "--root-directory", "new"]],
  ];
  for (const [name, args] of missing)
    it(`${name} ${args[0]} says so in words`, async () => {
      const { code, stderr } = await run(
        name,
        args.map((one) => (one === "none" ? join(folder, one) : one)),
      );
      assert.equal(code, 1);
      assert.match(stderr, /does not exist|no such file/);
      assert.doesNotMatch(stderr, /ENOENT|\n\s+at /);
    });

  it("a path through a file that is no directory is reported in words, too", async () => {
    await writeFile(join(folder, "plain"), "");
    const { stderr } = await run("kcp", ["compat", join(folder, "plain", "x"), "y"]);
    assert.match(stderr, /plain\/x: not a directory/);
  });
});
