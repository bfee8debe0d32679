/** kubectl against a simulated cluster: what one does with workloads, as one would type it. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { type SimulatedCluster, startListeningCluster } from "@kcp-ts/simulator";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { temporaryFolder } from "./kcp-process.ts";
import { Kubectl } from "./kubectl.ts";

const fast = { startDelayMs: { min: 0, max: 50 }, runMs: 100, stopDelayMs: 50 };

describe("kubectl and a simulated cluster", { skip: kubectlMissing() ?? false }, () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  let kubectl: Kubectl;
  let cluster: SimulatedCluster;
  before(async () => {
    const folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
    cluster = await startListeningCluster({ name: "east", nodes: 3, kubelet: fast });
    cleanups.unshift(() => cluster.close());
    const path = `${folder}/kubeconfig`;
    await writeFile(path, cluster.kubeconfig ?? "");
    const flags = ["--kubeconfig", path];
    kubectl = new Kubectl(findKubectl() as string, `${folder}/cache`, flags);
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  const rolledOut = (what: string) => kubectl.run("rollout", "status", what, "--timeout=150s");
  const imageOf = (name: string) =>
    kubectl.run("get", "deployment", name, "-o", "jsonpath={..containers[0].image}");

  it("shows ready nodes of the release that the cluster pretends to be", async () => {
    const text = await kubectl.run("get", "nodes", "-o", "wide");
    assert.equal(text.match(/east-node-\d +Ready +<none> +\S+ +v1\.36\./g)?.length, 3, text);
    const { serverVersion } = await kubectl.json<{ serverVersion: { minor: string } }>("version");
    assert.equal(serverVersion.minor, "36");
  });

  it("creates, scales, rolls out, undoes and restarts a Deployment", async () => {
    await kubectl.run("create", "deployment", "web", "--image=nginx:1.27", "--replicas=2");
    assert.match(await rolledOut("deployment/web"), /successfully rolled out/);
    await kubectl.run("scale", "deployment/web", "--replicas=5");
    assert.match(await rolledOut("deployment/web"), /successfully rolled out/);
    const row = await kubectl.run("get", "deployment", "web", "-o", "wide");
    assert.match(row, /web +5\/5 +5 +5 +\S+ +nginx +nginx:1\.27 +app=web/);

    await kubectl.run("set", "image", "deployment/web", "nginx=nginx:1.28");
    await rolledOut("deployment/web");
    await kubectl.run("rollout", "undo", "deployment/web");
    await rolledOut("deployment/web");
    assert.equal(await imageOf("web"), "nginx:1.27");
    const history = await kubectl.run("rollout", "history", "deployment/web");
    assert.deepEqual(
      history.match(/^\d+/gm),
      ["2", "3"],
      "an undo makes the old revision the newest",
    );

    await kubectl.run("rollout", "restart", "deployment/web");
    await rolledOut("deployment/web");
    const pods = await kubectl.run("get", "pods", "-l", "app=web", "-o", "wide");
    assert.equal(
      pods.match(/1\/1 +Running +0 +\S+ +10\.\d+\.\d+\.\d+ +east-node-\d/g)?.length,
      5,
      pods,
    );
  });

  it("pauses a rollout and resumes it", async () => {
    await kubectl.run("rollout", "pause", "deployment/web");
    await kubectl.run("set", "image", "deployment/web", "nginx=nginx:1.29");
    const status = await kubectl.try("rollout", "status", "deployment/web", "--timeout=1s");
    assert.notEqual(status.code, 0);
    await kubectl.run("rollout", "resume", "deployment/web");
    await rolledOut("deployment/web");
  });

  it("describes a Pod with the events of its start, and prints its log", async () => {
    await kubectl.run("run", "one", "--image=busybox:1", "--annotations=sim.kcp.io/log=hello");
    await kubectl.run("wait", "pod/one", "--for=condition=Ready", "--timeout=150s");
    const text = await kubectl.run("describe", "pod", "one");
    for (const wanted of ["Scheduled", "Pulled", "Started", "Successfully assigned default/one"])
      assert.ok(text.includes(wanted), `${wanted} in ${text}`);
    assert.match(text, /Status: +Running/);
    assert.equal(await kubectl.run("logs", "one"), "hello\n");
    await kubectl.run("delete", "pod", "one", "--timeout=150s");
    assert.match((await kubectl.try("get", "pod", "one")).stderr, /pods "one" not found/);
  });

  it("shows crash loops and images that cannot be pulled", async () => {
    await kubectl.run("run", "bad", "--image=x:1", "--annotations=sim.kcp.io/crash-after=10ms");
    await kubectl.run("run", "none", "--image=y:1", "--annotations=sim.kcp.io/fail=image-pull");
    const reason = (name: string) =>
      kubectl.run("get", "pod", name, "-o", "jsonpath={..state.waiting.reason}");
    while ((await reason("bad")) !== "CrashLoopBackOff");
    assert.match(await kubectl.run("get", "pod", "bad"), /bad +0\/1 +CrashLoopBackOff +\d+ \(/);
    while ((await reason("none")) !== "ErrImagePull");
    const refused = await kubectl.try("logs", "none");
    assert.match(
      refused.stderr,
      /container "none" in pod "none" is waiting to start: ErrImagePull/,
    );
  });

  it("runs StatefulSets, DaemonSets, Jobs, Services and claims from one file", async () => {
    await kubectl.feed(JSON.stringify(everything), "apply", "-f", "-");
    for (const what of ["statefulset/db", "daemonset/agent"]) await rolledOut(what);
    await kubectl.run("wait", "job/sum", "--for=condition=Complete", "--timeout=150s");
    const names = await kubectl.run("get", "pods", "-l", "app=db", "-o", "name");
    assert.deepEqual(names.trim().split("\n"), ["pod/db-0", "pod/db-1", "pod/db-2"]);
    const claims = await kubectl.run("get", "pvc");
    assert.equal(claims.match(/data-db-\d +Bound/g)?.length, 3, claims);
    const slices = "endpointslices";
    const ready = () =>
      kubectl.run("get", slices, "-o", "jsonpath={..endpoints[*].conditions.ready}");
    while ((await ready()) !== "true true true");
    assert.match(await kubectl.run("get", "job", "sum"), /sum +Complete +2\/2/);
    await kubectl.run("rollout", "restart", "statefulset/db", "daemonset/agent");
    for (const what of ["statefulset/db", "daemonset/agent"]) await rolledOut(what);
  });

  it("refuses what Kubernetes refuses, in its words", async () => {
    const spec = { replicas: -1, selector: { matchLabels: { a: "b" } }, template: { spec: {} } };
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "no" }, spec };
    const child = await kubectl
      .feed(JSON.stringify(body), "create", "--validate=false", "-f", "-")
      .catch((error: Error) => error.message);
    for (const wanted of [
      "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
      "`selector` does not match template `labels`",
      "spec.template.spec.containers: Required value",
    ])
      assert.ok(child.includes(wanted), `${wanted} in ${child}`);
    const patch =
      '{"spec":{"selector":{"matchLabels":{"x":"y"}},"template":{"metadata":{"labels":{"x":"y"}}}}}';
    const { stderr } = await kubectl.try("patch", "deployment", "web", "-p", patch);
    assert.match(stderr, /spec\.selector: Invalid value: .*: field is immutable/);
  });

  it("drains a node within the budget of what runs there", async () => {
    const { stdout, stderr, code } = await kubectl.try(
      ...["drain", "east-node-1", "--ignore-daemonsets", "--force", "--timeout=150s"],
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /node\/east-node-1 drained/);
    assert.match(await kubectl.run("get", "node", "east-node-1"), /Ready,SchedulingDisabled/);
    await rolledOut("statefulset/db");
  });

  it("deletes a Deployment with all that it made", async () => {
    await kubectl.run("delete", "deployment", "web", "--cascade=foreground", "--timeout=150s");
    const left = await kubectl.run("get", "replicasets,pods", "-l", "app=web");
    assert.equal(left.trim(), "");
  });
});

const template = (app: string, spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "main", image: `${app}:1` }], ...spec },
});
const selector = (app: string) => ({ matchLabels: { app } });

const everything = {
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "db" },
      spec: {
        serviceName: "db",
        replicas: 3,
        selector: selector("db"),
        template: template("db"),
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "db" },
      spec: { selector: { app: "db" }, ports: [{ port: 5432 }] },
    },
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "db" },
      spec: { maxUnavailable: 1, selector: selector("db") },
    },
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: "agent" },
      spec: { selector: selector("agent"), template: template("agent") },
    },
    {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "sum" },
      spec: { completions: 2, template: template("sum", { restartPolicy: "Never" }) },
    },
  ],
};
