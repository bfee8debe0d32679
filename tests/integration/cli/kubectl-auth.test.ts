/**
 * Authorization for users of kubectl: `kubectl auth can-i`, `whoami` and `reconcile`, by an
 * administrator and by a user with few permissions.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { startKcp, temporaryFolder } from "./kcp-process.ts";
import { Kubectl, otherKubectls } from "./kubectl.ts";

describe("kubectl auth", { skip: kubectlMissing() ?? false }, () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  let admin: Kubectl;
  let alice: Kubectl;
  let aliceFlags: readonly string[];
  const cacheFolder = () => temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });

  before(async () => {
    const folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
    const tokens = join(folder, "tokens.csv");
    await writeFile(tokens, 'alice-token,alice,uid-1,"developers"\n', { mode: 0o600 });
    const kcp = await startKcp(
      join(folder, "root"),
      ...["--storage", "memory", "--token-auth-file", tokens],
    );
    cleanups.unshift(() => kcp.stop());
    const empty = join(folder, "empty.kubeconfig");
    await writeFile(empty, "apiVersion: v1\nkind: Config\n");
    const binary = findKubectl() as string;
    const server = `${kcp.url}/clusters/team`;
    admin = new Kubectl(binary, join(folder, "cache"), [
      ...["--kubeconfig", kcp.kubeconfig, "--context", "base", "--server", server],
    ]);
    aliceFlags = [
      ...["--kubeconfig", empty, "--server", server, "--token", "alice-token"],
      "--insecure-skip-tls-verify",
    ];
    alice = new Kubectl(binary, join(folder, "cache-alice"), aliceFlags);
    await admin.run("create", "namespace", "dev");
    // A user who may not enter a logical cluster may not read it either.
    const enter = "--clusterrole=system:kcp:workspace:access";
    await admin.run("create", "clusterrolebinding", "enter", enter, "--user=alice");
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  const answer = async (kubectl: Kubectl, ...args: string[]) =>
    (await kubectl.try("auth", "can-i", ...args)).stdout.trim();

  it("can-i says yes to administrators and no to those who were given nothing", async () => {
    assert.equal(await answer(admin, "*", "*"), "yes");
    assert.equal(await answer(alice, "list", "configmaps"), "no");
    assert.equal(await answer(alice, "get", "/healthz"), "yes");
    assert.equal(await answer(alice, "get", "/metrics"), "no");
  });

  it("can-i says yes to what a binding gives, there and at once", async () => {
    await admin.run(
      "create",
      "rolebinding",
      "edit",
      "--clusterrole=edit",
      "--user=alice",
      "-n=dev",
    );
    assert.equal(await answer(alice, "create", "configmaps", "-n=dev"), "yes");
    assert.equal(await answer(alice, "create", "deployments.apps/scale", "-n=dev"), "no");
    assert.equal(await answer(alice, "create", "configmaps", "-n=default"), "no");
    assert.equal(await answer(alice, "create", "configmaps", "-A"), "no");
    await alice.run("create", "configmap", "mine", "-n=dev");
    const refused = await alice.try("create", "configmap", "mine");
    assert.match(
      refused.stderr,
      /: configmaps is forbidden: User "alice" cannot create resource "configmaps" in API group "" in the namespace "default"\n$/,
    );
  });

  for (const { path, version } of otherKubectls()) {
    it(`can-i of ${version} understands the answers`, async () => {
      const other = new Kubectl(path, await cacheFolder(), aliceFlags);
      assert.equal(await answer(other, "create", "configmaps", "-n=dev"), "yes");
      assert.equal(await answer(other, "create", "configmaps"), "no");
      assert.match(await other.run("auth", "can-i", "--list", "-n=dev"), /^secrets /m);
    });
  }

  it("can-i --list tells every rule", async () => {
    const list = await alice.run("auth", "can-i", "--list", "-n=dev");
    assert.match(list, /^Resources +Non-Resource URLs +Resource Names +Verbs$/m);
    assert.match(list, /^selfsubjectaccessreviews\.authorization\.k8s\.io .*\[create\]$/m);
    assert.match(list, /^secrets .*\[.*\bget list watch\b.*\]$/m);
    assert.match(list, /\[\/openapi\/\*\] .*\[get\]$/m);
    assert.match(await admin.run("auth", "can-i", "--list"), /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
  });

  it("whoami tells name and groups", async () => {
    if (alice.minor < 27) return;
    const { status } = await alice.json<{ status: { userInfo: object } }>("auth", "whoami");
    assert.deepEqual(status.userInfo, {
      username: "alice",
      uid: "uid-1",
      groups: ["developers", "system:authenticated"],
    });
  });

  const manifest = (verbs: string) => `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reconciled}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [${verbs}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reconciled}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reconciled}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: developers}
`;

  it("reconcile adds what is missing", async () => {
    assert.equal(await answer(alice, "get", "secrets"), "no");
    await admin.feed(manifest("get"), "auth", "reconcile", "-f", "-");
    assert.equal(await answer(alice, "get", "secrets"), "yes");
    await admin.feed(manifest("list"), "auth", "reconcile", "-f", "-");
    assert.equal(await answer(alice, "get", "secrets"), "yes");
    assert.equal(await answer(alice, "list", "secrets"), "yes");
    const only = manifest("list");
    await admin.feed(only, "auth", "reconcile", "--remove-extra-permissions", "-f", "-");
    assert.equal(await answer(alice, "get", "secrets"), "no");
  });

  it("a role that gathers others shows what it gathered", async () => {
    await admin.run("create", "clusterrole", "gathers", "--aggregation-rule=gather=yes");
    const part = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: part, labels: {gather: "yes"}}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [watch]}
`;
    await admin.feed(part, "apply", "-f", "-");
    const shown = await admin.run(
      "wait",
      "clusterrole/gathers",
      "--for=jsonpath={.rules[0].verbs[0]}=watch",
      "--timeout=150s",
    );
    assert.match(shown, /condition met/);
    assert.match(await admin.run("get", "clusterrole", "gathers", "-o", "yaml"), /- configmaps$/m);
  });

  it("a user cannot grant permissions that the user does not have", async () => {
    await admin.run(
      "create",
      "rolebinding",
      "admin",
      "--clusterrole=admin",
      "--user=alice",
      "-n=dev",
    );
    await alice.run("create", "role", "fine", "--verb=get", "--resource=configmaps", "-n=dev");
    const { stderr } = await alice.try(
      ...["create", "role", "more", "--verb=bind", "--resource=clusterroles", "-n=dev"],
    );
    assert.match(
      stderr,
      /roles\.rbac\.authorization\.k8s\.io "more" is forbidden: user "alice" \(groups=\["developers" "system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\["rbac\.authorization\.k8s\.io"\], Resources:\["clusterroles"\], Verbs:\["bind"\]\}/,
    );
  });
});
