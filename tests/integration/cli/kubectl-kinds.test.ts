/**
 * Every built-in kind by kubectl: explained, created by its generators (which send protobuf),
 * applied, described, listed.
 *
 * By the kubectl at hand and, when there are any, by other releases: old ones know nothing but
 * OpenAPI v2 as protobuf.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { startKcp, temporaryFolder } from "./kcp-process.ts";
import { Kubectl, otherKubectls } from "./kubectl.ts";

const manifests = {
  lease: "apiVersion: coordination.k8s.io/v1\nkind: Lease\nspec: {holderIdentity: me}",
  event:
    "apiVersion: v1\nkind: Event\ninvolvedObject: {kind: ConfigMap, name: x, namespace: default}\nreason: Tested\nmessage: well\ntype: Normal",
  validatingwebhookconfiguration:
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nwebhooks: [{name: a.b.c, clientConfig: {url: 'https://example.com'}, sideEffects: None, admissionReviewVersions: [v1]}]",
  mutatingwebhookconfiguration:
    "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nwebhooks: [{name: a.b.c, clientConfig: {url: 'https://example.com'}, sideEffects: None, admissionReviewVersions: [v1]}]",
  validatingadmissionpolicybinding:
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nspec: {policyName: p, validationActions: [Deny]}",
} as const;

describe("built-in kinds by kubectl", { skip: kubectlMissing() ?? false }, () => {
  describeKinds(() => findKubectl() as string, Number.POSITIVE_INFINITY);
});

const others = otherKubectls();

describe("built-in kinds by kubectl of another release", {
  skip: others.length === 0 ? "needs a second kubectl: set KUBECTL_OLD to its path" : false,
}, () => {
  for (const { path, version } of others) describe(version, () => describeKinds(() => path, 2));
});

/**
 * Of each table, the first `rowsMax` rows: there can be many releases, and each row is several
 * processes.
 */
function describeKinds(binary: () => string, rowsMax: number): void {
  const cleanups: (() => Promise<unknown>)[] = [];
  let kubectl: Kubectl;
  before(async () => {
    const folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
    const kcp = await startKcp(`${folder}/root`, "--storage", "memory");
    cleanups.unshift(() => kcp.stop());
    kubectl = new Kubectl(binary(), `${folder}/cache`, ["--kubeconfig", kcp.kubeconfig]);
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  it("explains fields, down to where they end", async () => {
    const data = await kubectl.run("explain", "configmap.data");
    assert.match(data, /^KIND: +ConfigMap$/m);
    assert.match(data, /^FIELD: +data <map\[string\]string>$/m);
    assert.match(data, /Configuration as text\. Keys are file names\./);
    const rules = await kubectl.run("explain", "role.rules");
    assert.match(rules, /^ +verbs\t<\[\]string> -required-$/m);
    const nested = await kubectl.run("explain", "csr.status.conditions.type");
    assert.match(nested, /Approved, Denied, Failed, or another\./);
    const view = await kubectl.run("explain", "events", "--api-version=events.k8s.io/v1");
    assert.match(view, /^ +regarding\t<(Object|ObjectReference)>/m);
    const unknown = await kubectl.try("explain", "configmap.nothing");
    assert.match(unknown.stderr, /field "nothing" does not exist/);
  });

  const generated: readonly (readonly string[])[] = [
    ["serviceaccount", "sa"],
    ["quota", "q", "--hard=configmaps=10,requests.cpu=1500m"],
    ["role", "r", "--verb=get,list", "--resource=configmaps,secrets"],
    ["rolebinding", "rb", "--role=r", "--serviceaccount=default:sa", "--user=u", "--group=g"],
    ["clusterrole", "cr", "--verb=get", "--non-resource-url=/metrics"],
    ["clusterrole", "agg", "--aggregation-rule=a=b"],
    ["clusterrolebinding", "crb", "--clusterrole=cr", "--user=u"],
  ];
  for (const args of generated.slice(0, rowsMax)) {
    it(`creates by: create ${args.join(" ")}`, async () => {
      const [kind = "", name = ""] = args;
      const created = await kubectl.run("create", ...args);
      assert.match(created, new RegExp(`/${name} created\n$`));
      const resource = kind === "quota" ? "resourcequota" : kind;
      assert.match(await kubectl.run("get", resource, name), new RegExp(`^NAME .*\n${name} `));
      assert.match(await kubectl.run("describe", resource, name), new RegExp(`^Name: +${name}\n`));
      const dry = await kubectl.run("delete", resource, name, "--dry-run=server");
      assert.match(dry, /deleted (?:from \w+ namespace )?\(server dry run\)/);
    });
  }

  for (const [resource, manifest] of Object.entries(manifests).slice(0, rowsMax)) {
    it(`applies and lists a ${resource}`, async () => {
      const text = `${manifest}\nmetadata: {name: x, labels: {set: all}}\n`;
      assert.match(await kubectl.feed(text, "apply", "-f", "-"), /\/x created\n$/);
      assert.match(await kubectl.feed(text, "apply", "-f", "-"), /\/x unchanged\n$/);
      const more = text.replace("set: all", "set: all, more: x");
      assert.match(await kubectl.feed(more, "apply", "-f", "-"), /\/x configured\n$/);
      const listed = await kubectl.run("get", resource, "-l", "set=all,more=x", "-o", "name");
      assert.match(listed, /\/x\n$/);
    });
  }

  it("refuses a manifest with a field that the kind does not have", async () => {
    const text = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: odd}\nsekrets: []\n";
    await assert.rejects(kubectl.feed(text, "create", "-f", "-"), /unknown field "sekrets"/);
  });
}
