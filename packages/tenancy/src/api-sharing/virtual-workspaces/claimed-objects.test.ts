/**
 * Goal: a provider's claim on workloads, addresses, bindings or clusters gives it no tokens,
 * Secrets or requests that its other claims do not.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../../testing/index.ts";
import { apis, bind, flushPendingWork, offer } from "../test-support/cowboys.ts";

const asProvider = { user: "a" } as const;
const asConsumer = { user: "masters" } as const;
const labelled = { matchLabels: { show: "yes" } };
const matchAll = { matchAll: true };
const view = "/services/apiexport/a/cowboys/clusters/b";

interface Agreed {
  readonly group?: string;
  readonly resource: string;
  readonly verbs?: readonly string[];
  readonly selector?: object;
}

/** Kinds that clusters have by an export of workspace c, as those of physical clusters. */
const exported = {
  deployments: { group: "apps", kind: "Deployment" },
  cronjobs: { group: "batch", kind: "CronJob" },
  services: { group: "", kind: "Service" },
  endpoints: { group: "", kind: "Endpoints" },
  endpointslices: { group: "discovery.k8s.io", kind: "EndpointSlice" },
  synctargets: { group: "workload.kcp.io", kind: "SyncTarget" },
} as const;
type Exported = keyof typeof exported;
const isExported = (resource: string): resource is Exported => resource in exported;

const at = (resource: Exported) => {
  const { group } = exported[resource];
  return `${group === "" ? "/api" : `/apis/${group}`}/v1/namespaces/default/${resource}`;
};

async function exportKinds(test: TestServer): Promise<string> {
  const resources: object[] = [];
  for (const [plural, { group, kind }] of Object.entries(exported)) {
    const suffix = `${plural}.${group === "" ? "core" : group}`;
    const name = `v1.${suffix}`;
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    await test.requestOk("POST", `${apis("c", "v1alpha1")}/apiresourceschemas`, {
      ...asConsumer,
      body: {
        apiVersion: "apis.kcp.io/v1alpha1",
        kind: "APIResourceSchema",
        metadata: { name, annotations: { "api-approved.kubernetes.io": "unapproved, of a test" } },
        spec: {
          group,
          names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
          scope: "Namespaced",
          versions: [
            { name: "v1", served: true, storage: true, subresources: { status: {} }, schema },
          ],
        },
      },
    });
    resources.push({ name: plural, group, schema: name });
  }
  await test.requestOk("POST", `${apis("c")}/apiexports`, {
    ...asConsumer,
    body: {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIExport",
      metadata: { name: "cowboys" },
      spec: { resources },
    },
  });
  await flushPendingWork(test);
  const made = await test.requestOk("GET", `${apis("c")}/apiexports/cowboys`, asConsumer);
  return (made["status"] as { identityHash: string }).identityHash;
}

/** Provider a, consumer b, the kinds of c in b, and the claims of a that b accepted. */
async function started(...agreed: readonly Agreed[]): Promise<TestServer> {
  const test = await TestServer.start();
  const identityHash = await exportKinds(test);
  await bind(test, "b", "c", "kinds");
  const claims = agreed.map(({ group = "", resource, verbs = ["*"] }) => ({
    group: isExported(resource) ? exported[resource].group : group,
    resource,
    verbs,
    ...(isExported(resource) ? { identityHash } : {}),
  }));
  await offer(test, "a", { permissionClaims: claims });
  await test.requestOk("POST", "/clusters/b/api/v1/namespaces", {
    ...asConsumer,
    body: { metadata: { name: "default" } },
  });
  const accepted = agreed.map(({ selector = matchAll }, i) => ({
    ...claims[i],
    selector,
    state: "Accepted",
  }));
  await bind(test, "b", "a", "cowboys", accepted);
  await flushPendingWork(test);
  return test;
}

const core = (resource: string) => `/clusters/b/api/v1/namespaces/default/${resource}`;

function workload(kind: "Deployment" | "CronJob", pod: object, labels: object = {}) {
  const template = { spec: { containers: [{ name: "c", image: "provider" }], ...pod } };
  return kind === "Deployment"
    ? { apiVersion: "apps/v1", kind, metadata: { name: "w", labels }, spec: { template } }
    : {
        apiVersion: "batch/v1",
        kind,
        metadata: { name: "w", labels },
        spec: { jobTemplate: { spec: { template } } },
      };
}

const access = { "workload.kcp.io/api-access": "true" };

function assertForbidden(answer: { status: number; object: AnyObject }, message: RegExp): void {
  assert.equal(answer.status, 403, JSON.stringify(answer.object));
  assert.match(answer.object.message ?? "", message);
}

describe("a permission claim on workloads", () => {
  for (const [resource, kind] of [
    ["deployments", "Deployment"],
    ["cronjobs", "CronJob"],
  ] as const) {
    it(`gives the Pods of ${resource} no ServiceAccount that no claim covers`, async () => {
      const test = await started(
        { resource },
        { resource: "serviceaccounts", selector: labelled, verbs: ["get", "create"] },
      );
      for (const [name, show] of Object.entries({ admin: "no", theirs: "yes" }))
        await test.requestOk("POST", core("serviceaccounts"), {
          ...asConsumer,
          body: { metadata: { name, labels: { show } } },
        });
      await flushPendingWork(test);
      const post = (pod: object, labels = {}) =>
        test.request("POST", `${view}${at(resource)}?dryRun=All`, {
          ...asProvider,
          body: workload(kind, pod, labels),
        });
      const refusal = /no accepted permission claim to create serviceaccounts covers/;
      assertForbidden(await post({ serviceAccountName: "admin" }), refusal);
      assertForbidden(await post({ serviceAccount: "admin" }), refusal);
      assertForbidden(await post({}, access), refusal);
      assert.equal((await post({ serviceAccountName: "theirs" }, access)).status, 201);
      assert.equal((await post({})).status, 201);
      await test.close();
    });

    it(`gives the Pods of ${resource} no Secret that no claim covers`, async () => {
      const test = await started({ resource }, { resource: "secrets", selector: labelled });
      for (const [name, show] of Object.entries({ hidden: "no", shown: "yes" }))
        await test.requestOk("POST", core("secrets"), {
          ...asConsumer,
          body: { metadata: { name, labels: { show } } },
        });
      await flushPendingWork(test);
      const uses = (name: string) => [
        { volumes: [{ name: "v", secret: { secretName: name } }] },
        { volumes: [{ name: "v", projected: { sources: [{ secret: { name } }] } }] },
        { volumes: [{ name: "v", csi: { driver: "d", nodePublishSecretRef: { name } } }] },
        { containers: [{ name: "c", envFrom: [{ secretRef: { name } }] }] },
        {
          initContainers: [
            { name: "i", env: [{ name: "E", valueFrom: { secretKeyRef: { name, key: "k" } } }] },
          ],
        },
        { imagePullSecrets: [{ name }] },
      ];
      const post = (pod: object) =>
        test.request("POST", `${view}${at(resource)}?dryRun=All`, {
          ...asProvider,
          body: workload(kind, pod),
        });
      for (const name of ["hidden", "not-there"])
        for (const pod of uses(name))
          assertForbidden(await post(pod), /to get secrets covers secret "(hidden|not-there)"$/);
      for (const pod of uses("shown")) assert.equal((await post(pod)).status, 201);
      await test.close();
    });
  }

  it("does not exchange the image of a Deployment with a Secret, but scales and labels it", async () => {
    const test = await started({ resource: "deployments" });
    const pod = { volumes: [{ name: "v", secret: { secretName: "hidden" } }] };
    await test.requestOk("POST", `/clusters/b${at("deployments")}`, {
      ...asConsumer,
      body: workload("Deployment", pod),
    });
    await flushPendingWork(test);
    const one = `${view}${at("deployments")}/w`;
    const containers = [{ name: "c", image: "another" }];
    const turned = { spec: { template: { spec: { containers } } } };
    assertForbidden(await test.patch(one, "merge", turned, asProvider), /covers secret "hidden"$/);
    const scaled = { metadata: { labels: { note: "seen" } }, spec: { replicas: 3 } };
    assert.equal((await test.patch(one, "merge", scaled, asProvider)).status, 200);
    const labels = { metadata: { labels: access } };
    assertForbidden(
      await test.patch(one, "merge", labels, asProvider),
      /service account "default"/,
    );
    await test.close();
  });

  it("gives no token by the label of a namespace", async () => {
    const test = await started({ resource: "deployments" }, { resource: "namespaces" });
    const path = "/api/v1/namespaces";
    const body = { metadata: { name: "new", labels: access } };
    const refusal = /claim to create all serviceaccounts allows to set label/;
    assertForbidden(await test.request("POST", `${view}${path}`, { ...asProvider, body }), refusal);
    const patch = { metadata: { labels: access } };
    for (const own of [`${path}/default`, `${path}/default/status`])
      assertForbidden(await test.patch(`${view}${own}`, "merge", patch, asProvider), refusal);
    await test.patch(`/clusters/b${path}/default`, "merge", patch, asConsumer);
    const made = await test.request("POST", `${view}${at("deployments")}`, {
      ...asProvider,
      body: workload("Deployment", {}),
    });
    assertForbidden(made, /covers service account "default"$/);
    await test.close();
  });
});

const admission = "admissionregistration.k8s.io";
const hook = (clientConfig: object) => ({
  metadata: { name: "guard" },
  webhooks: [
    {
      name: "guard.example.com",
      clientConfig,
      sideEffects: "None",
      failurePolicy: "Ignore",
      admissionReviewVersions: ["v1"],
      rules: [
        { apiGroups: [""], apiVersions: ["*"], operations: ["CREATE"], resources: ["secrets"] },
      ],
    },
  ],
});

describe("a permission claim on the addresses of a Service", () => {
  const resources = ["services", "endpoints", "endpointslices"] as const;
  const object = (resource: Exported, name: string): AnyObject => ({
    apiVersion: resource === "endpointslices" ? "discovery.k8s.io/v1" : "v1",
    kind: exported[resource].kind,
    metadata: {
      name,
      ...(resource === "endpointslices" ? { labels: { "kubernetes.io/service-name": name } } : {}),
    },
  });

  it("does not redirect a webhook of the consumer, by no object that has a part in its address", async () => {
    const test = await started(...resources.map((resource) => ({ resource })));
    const service = { namespace: "default", name: "guard" };
    const hooks = `/clusters/b/apis/${admission}/v1/validatingwebhookconfigurations`;
    await test.requestOk("POST", hooks, { ...asConsumer, body: hook({ service }) });
    const refusal = /no accepted permission claim to get all secrets allows to intercept them$/;
    for (const resource of resources) {
      const path = `${view}${at(resource)}`;
      const post = (name: string) =>
        test.request("POST", path, { ...asProvider, body: object(resource, name) });
      assertForbidden(await post("guard"), refusal);
      assert.equal((await post("other")).status, 201);
      await test.requestOk("POST", `/clusters/b${at(resource)}`, {
        ...asConsumer,
        body: object(resource, "guard"),
      });
      await flushPendingWork(test);
      const ingress = [{ ip: "203.0.113.1" }];
      const turned = { status: { loadBalancer: { ingress } }, spec: { externalName: "evil" } };
      for (const own of [`${path}/guard`, `${path}/guard/status`])
        assertForbidden(await test.patch(own, "merge", turned, asProvider), refusal);
      const touched = { metadata: { annotations: { note: "seen" } } };
      assert.equal((await test.patch(`${path}/guard`, "merge", touched, asProvider)).status, 200);
    }
    const moved = { metadata: { labels: { "kubernetes.io/service-name": "guard" } } };
    const slice = `${view}${at("endpointslices")}/other`;
    assertForbidden(await test.patch(slice, "merge", moved, asProvider), refusal);
    await test.close();
  });

  it("redirects webhooks for objects that the provider may read anyway", async () => {
    const test = await started({ resource: "services" }, { resource: "secrets" });
    const service = { namespace: "default", name: "guard" };
    const hooks = `/clusters/b/apis/${admission}/v1/validatingwebhookconfigurations`;
    await test.requestOk("POST", hooks, { ...asConsumer, body: hook({ service }) });
    const path = `${view}${at("services")}`;
    const body = object("services", "guard");
    assert.equal((await test.request("POST", path, { ...asProvider, body })).status, 201);
    await test.close();
  });
});

describe("a permission claim on bindings of admission policies", () => {
  it("binds no policy over objects that the provider may not read, nor one that is to come", async () => {
    const test = await started({ group: admission, resource: "validatingadmissionpolicybindings" });
    const base = `apis/${admission}/v1`;
    const rules = [
      { apiGroups: [""], apiVersions: ["*"], operations: ["*"], resources: ["secrets"] },
    ];
    const spec = {
      matchConstraints: { resourceRules: rules },
      validations: [{ expression: "false" }],
    };
    await test.requestOk("POST", `/clusters/b/${base}/validatingadmissionpolicies`, {
      ...asConsumer,
      body: { metadata: { name: "strict" }, spec },
    });
    const bindings = `${view}/${base}/validatingadmissionpolicybindings`;
    const post = (policyName: string) =>
      test.request("POST", bindings, {
        ...asProvider,
        body: { metadata: { name: "b" }, spec: { policyName, validationActions: ["Deny"] } },
      });
    assertForbidden(await post("strict"), /to get all secrets allows to intercept them$/);
    assertForbidden(await post("later"), /policy "later" does not exist/);
    await test.close();
  });
});

describe("a permission claim on certificate signing requests", () => {
  it("approves none, neither by the subresource nor by a status", async () => {
    const group = "certificates.k8s.io";
    const resource = "certificatesigningrequests";
    const test = await started({ group, resource });
    const own = `${view}/apis/${group}/v1/${resource}/none`;
    const conditions = [{ type: "Approved", status: "True", reason: "x", message: "x" }];
    const patch = { status: { conditions } };
    const approval = await test.patch(`${own}/approval`, "merge", patch, asProvider);
    assert.equal(approval.status, 404);
    assert.match(approval.object.message ?? "", /could not find the requested resource/);
    await test.close();
  });
});

describe("a permission claim on SyncTargets", () => {
  it("registers no cluster, which would receive the workloads and their Secrets, without a claim on all Secrets", async () => {
    for (const [selector, status] of [
      [labelled, 403],
      [matchAll, 201],
    ] as const) {
      const test = await started({ resource: "synctargets" }, { resource: "secrets", selector });
      const body = {
        apiVersion: "workload.kcp.io/v1",
        kind: "SyncTarget",
        metadata: { name: "theirs" },
        spec: { kubeconfig: "apiVersion: v1" },
      };
      const path = `${view}${at("synctargets")}`;
      const made = await test.request("POST", path, { ...asProvider, body });
      assert.equal(made.status, status, made.text);
      await test.close();
    }
  });
});

describe("a permission claim on issuers of tokens", () => {
  it("adds none", async () => {
    const group = "tenancy.kcp.io";
    const resource = "workspaceauthenticationconfigurations";
    const test = await started({ group, resource });
    const spec = {
      jwt: [
        {
          issuer: { url: "https://provider.example.com", audiences: ["kcp"] },
          claimMappings: { username: { claim: "sub", prefix: "" } },
        },
      ],
    };
    const body = {
      apiVersion: `${group}/v1alpha1`,
      kind: "WorkspaceAuthenticationConfiguration",
      metadata: { name: "theirs" },
      spec,
    };
    const path = `${view}/apis/${group}/v1alpha1/${resource}`;
    const made = await test.request("POST", path, { ...asProvider, body });
    assertForbidden(made, /issuers cannot be set by a permission claim$/);
    await test.close();
  });
});
