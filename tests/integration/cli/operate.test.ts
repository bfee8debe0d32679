/**
 * Goal: an operator sees what is and what to do next: `kcp status`, `kcp doctor`, `kcp version`,
 * `kcp join` and completion, as processes against a running server and without one.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { kcpVersion } from "@kcp-ts/machinery/base";
import { collect, runKcp, startKcp, temporaryFolder } from "./kcp-process.ts";

const bin = fileURLToPath(new URL("../../../../packages/cli/bin/", import.meta.url));

interface Finding {
  readonly check: string;
  readonly severity: string;
  readonly message: string;
  readonly next?: string;
}

describe("kcp status, doctor and join", () => {
  it("follow a control plane from its start to two registered clusters", async (t) => {
    const root = join(await temporaryFolder(t), "kcp");
    const kcp = await startKcp(root);
    t.after(() => kcp.kill());
    const status = async () => {
      const { code, stdout, stderr } = await runKcp(
        "status",
        ...["--root-directory", root, "-o", "json"],
      );
      assert.ok(stdout !== "", stderr);
      const parsed = JSON.parse(stdout) as { findings: Finding[]; clusters: { name: string }[] };
      return { code, ...parsed };
    };
    const empty = await status();
    assert.equal(empty.code, 0);
    assert.match(empty.findings.at(-1)?.next ?? "", /kcp join .*kcp sim --clusters 2 --join/);

    const folder = join(root, "sim");
    const args = ["sim", "--clusters", "2", "--nodes", "1", "--join", "--root-directory", root];
    const sim = spawn(join(bin, "kcp.mjs"), [...args, "--out-directory", folder], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    t.after(() => sim.kill("SIGKILL"));
    for await (const line of createInterface({ input: sim.stderr }))
      if (line.startsWith("ready")) break;
    const joined = await status();
    assert.equal(joined.code, 0, JSON.stringify(joined.findings));
    assert.deepEqual(
      joined.clusters.map(({ name }) => name),
      ["us-east1", "us-west1"],
    );
    assert.match(JSON.stringify(joined.findings), new RegExp(`syncer v${kcpVersion}`));

    const kubeconfig = join(folder, "us-east1.kubeconfig");
    const again = await runKcp(
      ...["join", "us-east1", "--cluster-kubeconfig", kubeconfig, "--root-directory", root],
    );
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /us-east1 updated\nus-east1 is Ready/);

    const { port } = new URL(kcp.url);
    const checked = await runKcp(
      ...["doctor", "--root-directory", root, "--secure-port", port, "-o", "json"],
    );
    const { findings } = JSON.parse(checked.stdout) as { findings: Finding[] };
    const severityOf = (name: string) => findings.find(({ check }) => check === name)?.severity;
    assert.equal(severityOf("server"), "ok");
    assert.equal(severityOf("directory"), "ok");
    assert.equal(severityOf("apiserver.crt"), "ok");
    assert.equal(severityOf("audit"), "warning");

    const version = await runKcp("version", "--kubeconfig", kcp.kubeconfig, "-o", "json");
    const { client, server } = JSON.parse(version.stdout) as Record<string, { version: string }>;
    assert.deepEqual([client?.version, server?.version], [kcpVersion, kcpVersion]);
  });

  it("kcp doctor checks a data directory without a server, and fails for one that others can read", async (t) => {
    const root = join(await temporaryFolder(t), "kcp");
    const kcp = await startKcp(root);
    await kcp.stop();
    const doctor = () =>
      runKcp("doctor", "--root-directory", root, "--secure-port", String(new URL(kcp.url).port));
    const stopped = await doctor();
    assert.equal(stopped.code, 0, stopped.stdout);
    assert.match(stopped.stdout, /no server answers/);
    await chmod(root, 0o755);
    const open = await doctor();
    assert.equal(open.code, 1);
    assert.match(open.stdout, /✗ directory .*other users can read/);
    assert.match(open.stdout, /next: chmod 700/);
  });

  it("errors are sentences without names of system calls", async (t) => {
    const folder = await temporaryFolder(t);
    const nowhere = await runKcp("status", "--root-directory", folder);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /admin\.kubeconfig does not exist/);
    const kcp = await startKcp(folder);
    await kcp.stop();
    const down = await runKcp("status", "--root-directory", folder);
    assert.equal(down.code, 1);
    assert.match(down.stderr, /^kcp: the connection to the server .* was refused: start it/);
    for (const { stderr } of [nowhere, down]) assert.doesNotMatch(stderr, /ENOENT|ECONN|EPIPE/);
    const wrong = join(folder, "exec.kubeconfig");
    const text = await readFile(kcp.kubeconfig, "utf8");
    await writeFile(wrong, text);
    const context = await runKcp(
      ...["join", "x", "--cluster-kubeconfig", wrong, "--cluster-context", "none"],
      ...["--root-directory", folder],
    );
    assert.match(context.stderr, /no context "none": name one by --cluster-context/);
  });

  it("etcd that is not reachable is a failure with a next step", async (t) => {
    const folder = await temporaryFolder(t);
    const { code, stdout } = await runKcp(
      ...["doctor", "--offline", "--root-directory", folder],
      ...["--etcd-servers", "http://127.0.0.1:1", "-o", "json"],
    );
    assert.equal(code, 1);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const failed = findings.find(({ check }) => check === "etcd http://127.0.0.1:1");
    assert.equal(failed?.severity, "error");
    assert.match(failed?.message ?? "", /unreachable/);
  });
});

describe("completion of commands", () => {
  it("is printed for each shell, and bash completes by it", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout } = await runKcp("completion", shell);
      assert.equal(code, 0);
      assert.match(stdout, /__complete/);
    }
    const script = `source <(${bin}kcp.mjs completion bash)
COMP_WORDS=(${bin}kcp.mjs start --storage e); COMP_CWORD=3; _kcp; echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await collect(spawn("bash", ["-c", script]));
    assert.equal(stdout, "embedded etcd\n", stderr);
  });

  it("of a kubectl plug-in ends with cobra's directive", async () => {
    const child = spawn(join(bin, "kubectl_complete-kcp.mjs"), ["unc"]);
    assert.equal((await collect(child)).stdout, "uncordon\n:4\n");
  });
});
