/**
 * The demo as users run it, to its end; then kubectl on what it leaves running: the whole behaves
 * like any Deployment.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { describe, it } from "node:test";
import { findKubectl } from "@kcp-ts/testkit";
import { spawnKcp, untilPrinted } from "./demo-process.ts";
import { temporaryFolder } from "./kcp-process.ts";
import { Kubectl } from "./kubectl.ts";

describe("kcp demo", () => {
  it("plays through by itself, keeps running with --keep, and leaves nothing behind", async (t) => {
    const demo = spawnKcp("demo", "--auto", "--keep");
    t.after(() => demo.kill());
    const text = await untilPrinted(demo, "It goes on until Ctrl-C");
    for (const line of [
      /my-deployment--us-east1 +8\/8 .*\n.*my-deployment--us-west1 +7\/7/,
      /my-deployment--us-east1 +15\/15 .*\n.*my-deployment--us-west1 +7\/7 .*lost/,
      /us-west1 +False +\w+, failover in [1-6] s/,
      /TRAFFIC from us-east1: \d+ answered \([1-9]\d* after a retry\), 0 failed\n +endpoints: us-east1 15\n/,
      /asks for 15,\nby no policy: all clusters, evenly\n\nCLUSTER +DESIRED/,
      /deployment\/my-deployment +us-east1 8, us-west1 7 +us-east1 15\n/,
      /us-west1 would be empty; next: kubectl kcp drain us-west1\n/,
      /✓ us-west1 is back/,
      /What to try next\n/,
    ]) {
      assert.match(text, line);
    }
    for (const line of text.split("\n")) assert.ok(line.length <= 80, line);
    const kubeconfig = /export KUBECONFIG=(\S+)/.exec(text)?.[1] ?? "";
    const path = findKubectl();
    if (path === undefined) t.diagnostic("without kubectl, its half of the test was left out");
    else {
      const folder = await temporaryFolder(t);
      await useKubectl(new Kubectl(path, `${folder}/cache`, ["--kubeconfig", kubeconfig]));
    }
    assert.equal(await demo.stop(), 0);
    assert.equal(existsSync(dirname(kubeconfig)), false);
  });
});

async function useKubectl(kubectl: Kubectl): Promise<void> {
  const workload = "deployment/my-deployment";
  const rolledOut = () => kubectl.run("rollout", "status", workload, "--timeout=150s");
  assert.match(await rolledOut(), /successfully rolled out/);
  await kubectl.run("scale", workload, "--replicas=4");
  await rolledOut();
  await kubectl.run("wait", "deployments", "--all", "--for=condition=Available", "--timeout=150s");
  await kubectl.run("rollout", "restart", workload);
  assert.match(await rolledOut(), /successfully rolled out/);
  const rows = await kubectl.run("get", "deployments");
  assert.match(rows, /my-deployment +4\/4 +4 +4/);
  assert.match(rows, /my-deployment--us-east1 +2\/2/);
  assert.match(rows, /my-deployment--us-west1 +2\/2/);
  assert.match(await kubectl.run("get", "clusters"), /us-east1 +True/);
  assert.match(await kubectl.run("describe", workload), /Normal +ScaledCluster/);
}
