/**
 * kubectl deletes namespaces and owners, and waits until they are gone: it would wait forever for
 * loops that do not run.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { startKcp, temporaryFolder } from "./kcp-process.ts";
import { Kubectl } from "./kubectl.ts";

describe("deletion by kubectl", { skip: kubectlMissing() ?? false }, () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  let kubectl: Kubectl;
  before(async () => {
    const folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
    const kcp = await startKcp(`${folder}/root`, "--storage", "memory");
    cleanups.unshift(() => kcp.stop());
    kubectl = new Kubectl(findKubectl() as string, `${folder}/cache`, [
      "--kubeconfig",
      kcp.kubeconfig,
    ]);
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  const manifest = (name: string, owner?: { name: string; uid: string }) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name,
        ...(owner === undefined
          ? {}
          : { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", ...owner }] }),
      },
    });

  async function createOwned(prefix: string): Promise<void> {
    await kubectl.feed(manifest(`${prefix}-owner`), "create", "-f", "-");
    const uid = await kubectl.run(
      ...["get", "configmap", `${prefix}-owner`, "-o", "jsonpath={.metadata.uid}"],
    );
    const owner = { name: `${prefix}-owner`, uid: uid.trim() };
    await kubectl.feed(manifest(`${prefix}-child`, owner), "create", "-f", "-");
  }

  it("a namespace goes with everything in it", async () => {
    await kubectl.run("create", "namespace", "doomed");
    await kubectl.run("-n", "doomed", "create", "configmap", "one");
    await kubectl.run("-n", "doomed", "create", "secret", "generic", "two");
    await kubectl.run("delete", "namespace", "doomed", "--timeout=150s");
    const left = await kubectl.run("get", "configmaps,secrets,serviceaccounts", "-n", "doomed");
    assert.equal(left.trim(), "");
  });

  it("a new namespace has a certificate and a service account", async () => {
    await kubectl.run("create", "namespace", "new");
    const wanted = ["configmap/kube-root-ca.crt", "serviceaccount/default"];
    // They are made behind the namespace; the test's own time is the limit.
    while ((await kubectl.try("get", "-n", "new", ...wanted)).code !== 0);
  });

  it("what an owner owned goes before it in the foreground, behind it in the background", async () => {
    for (const cascade of ["foreground", "background"]) {
      await createOwned(cascade);
      await kubectl.run(
        ...["delete", "configmap", `${cascade}-owner`, `--cascade=${cascade}`, "--timeout=150s"],
      );
      await kubectl.run(
        ...["wait", "--for=delete", `configmap/${cascade}-child`, "--timeout=150s"],
      );
    }
  });

  it("--cascade=orphan keeps the dependents of a deleted owner", async () => {
    await createOwned("orphan");
    await kubectl.run("delete", "configmap", "orphan-owner", "--cascade=orphan", "--timeout=150s");
    const owners = await kubectl.run(
      ...["get", "configmap", "orphan-child", "-o", "jsonpath={.metadata.ownerReferences}"],
    );
    assert.match(owners.trim(), /^(\[\])?$/);
  });
});
