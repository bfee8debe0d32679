import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { demoSteps, nextCommands } from "./demo-steps.ts";
import { drawDemoView } from "./demo-view.ts";
import { wrapped } from "./run-demo.ts";
import { runTypedLine } from "./typed-line.ts";

const columnsMax = 80;

describe("the demo on a terminal of 80 columns", () => {
  it("texts break between words, and commands fit", () => {
    for (const { text, commands, title } of demoSteps) {
      const lines = wrapped(text, columnsMax - 6);
      assert.equal(lines.join(" "), text);
      const shown = [...lines, ...commands.map((command) => `  ${command}`), title];
      for (const line of shown) assert.ok(line.length + 5 <= columnsMax, line);
    }
    for (const line of nextCommands.flat()) assert.ok(line.length + 7 <= columnsMax, line);
  });

  it("the table of all clusters fits, with images, the countdown and the traffic", () => {
    const row = (name: string, cluster: string | undefined, replicas: number) => ({
      name,
      cluster,
      replicas,
      ready: replicas,
      updated: replicas,
      image: "nginx:1.27",
      isUnreachable: false,
      isObserved: true,
    });
    const text = drawDemoView({
      clusters: [
        { name: "us-east1", ready: "True", reason: "ClusterReady", failoverInSeconds: undefined },
        { name: "us-west1", ready: "False", reason: "ClusterUnreachable", failoverInSeconds: 4 },
      ],
      deployments: [
        row("my-deployment", undefined, 15),
        row("my-deployment--us-east1", "us-east1", 15),
        row("my-deployment--us-west1", "us-west1", 7),
      ],
      traffic: {
        from: "us-east1",
        answered: 1234,
        retried: 12,
        failed: 0,
        endpoints: { "us-east1": 15, "us-west1": 7 },
      },
    });
    const escapes = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");
    const plain = text.replaceAll(escapes, "");
    for (const line of plain.split("\n")) assert.ok(line.length <= columnsMax, line);
    assert.match(plain, /us-west1 +False +ClusterUnreachable, failover in 4 s/);
    assert.match(plain, /my-deployment--us-west1 +7\/7 +7 +nginx:1\.27/);
    assert.match(plain, /1234 answered \(12 after a retry\), 0 failed/);
  });
});

describe("a line typed at a prompt of the demo", () => {
  it("is run if it is kubectl's, in the demo's folder with its kubeconfig", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "kcp-demo-test-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "kubectl"), '#!/bin/sh\necho "$KUBECONFIG $PWD $*" > ran\n');
    await chmod(join(folder, "kubectl"), 0o755);
    const { PATH } = process.env;
    process.env["PATH"] = `${folder}${delimiter}${PATH}`;
    t.after(() => {
      process.env["PATH"] = PATH;
    });
    const said: string[] = [];
    const options = { folder, kubeconfigPath: "k", say: (line: string) => void said.push(line) };
    await runTypedLine("kubectl get pods -A", options);
    assert.equal(await readFile(join(folder, "ran"), "utf8"), `k ${folder} get pods -A\n`);
    assert.deepEqual(said, []);
    await runTypedLine("rm -r .", options);
    assert.match(said.join(), /Only kubectl lines/);
  });
});
