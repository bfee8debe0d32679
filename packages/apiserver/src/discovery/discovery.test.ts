import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";

const aggregated = {
  accept:
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
};

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

describe("legacy discovery", () => {
  it("/api names one version and the address", async () => {
    const headers = { host: "example.com:6443" };
    for (const path of ["/api", "/api/", "/clusters/a/api", "/clusters/a/api/"]) {
      assert.deepEqual((await server.get(path, { headers })).object, {
        kind: "APIVersions",
        versions: ["v1"],
        serverAddressByClientCIDRs: [
          { clientCIDR: "0.0.0.0/0", serverAddress: "example.com:6443" },
        ],
      });
    }
  });

  it("/apis lists groups in the order of upstream", async () => {
    for (const path of ["/apis", "/apis/"]) {
      const { object } = await server.get(path);
      assert.deepEqual([object.kind, object.apiVersion], ["APIGroupList", "v1"]);
      const groups = object["groups"] as Record<string, unknown>[];
      assert.deepEqual(
        groups.map(({ name }) => name),
        [
          "events.k8s.io",
          "authentication.k8s.io",
          "authorization.k8s.io",
          "certificates.k8s.io",
          "rbac.authorization.k8s.io",
          "admissionregistration.k8s.io",
          "apiextensions.k8s.io",
          "coordination.k8s.io",
          "flowcontrol.apiserver.k8s.io",
        ],
      );
      const version = { groupVersion: "events.k8s.io/v1", version: "v1" };
      const expected = { name: "events.k8s.io", versions: [version], preferredVersion: version };
      assert.deepEqual(groups[0], expected);
      const one = await server.get("/apis/events.k8s.io");
      assert.deepEqual(one.object, { kind: "APIGroup", apiVersion: "v1", ...expected });
    }
  });

  const all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

  it("/api/v1 lists the verbs of each resource", async () => {
    const { object } = await server.get("/api/v1/");
    assert.deepEqual([object.kind, object["groupVersion"]], ["APIResourceList", "v1"]);
    const [configMaps] = object["resources"] as Record<string, unknown>[];
    const hash = createHash("sha256").update("/v1/ConfigMap").digest().subarray(0, 8);
    assert.deepEqual(configMaps, {
      name: "configmaps",
      singularName: "configmap",
      namespaced: true,
      kind: "ConfigMap",
      verbs: all,
      shortNames: ["cm"],
      storageVersionHash: hash.toString("base64"),
    });
  });

  const status = "get,patch,update";
  const most = all.join(",");
  const served: readonly [groupVersion: string, lines: readonly string[]][] = [
    [
      "/api/v1",
      [
        `configmaps ConfigMap true ${most} cm`,
        `events Event true ${most} ev`,
        `namespaces Namespace false ${most.replace("deletecollection,", "")} ns`,
        "namespaces/finalize Namespace false update",
        `namespaces/status Namespace false ${status}`,
        `resourcequotas ResourceQuota true ${most} quota`,
        `resourcequotas/status ResourceQuota true ${status}`,
        `secrets Secret true ${most}`,
        `serviceaccounts ServiceAccount true ${most} sa`,
        "serviceaccounts/token TokenRequest true create",
      ],
    ],
    ["/apis/events.k8s.io/v1", [`events Event true ${most} ev`]],
    [
      "/apis/authentication.k8s.io/v1",
      [
        "selfsubjectreviews SelfSubjectReview false create",
        "tokenreviews TokenReview false create",
      ],
    ],
    [
      "/apis/authorization.k8s.io/v1",
      [
        "localsubjectaccessreviews LocalSubjectAccessReview true create",
        "selfsubjectaccessreviews SelfSubjectAccessReview false create",
        "selfsubjectrulesreviews SelfSubjectRulesReview false create",
        "subjectaccessreviews SubjectAccessReview false create",
      ],
    ],
    [
      "/apis/certificates.k8s.io/v1",
      [
        `certificatesigningrequests CertificateSigningRequest false ${most} csr`,
        `certificatesigningrequests/approval CertificateSigningRequest false ${status}`,
        `certificatesigningrequests/status CertificateSigningRequest false ${status}`,
      ],
    ],
    [
      "/apis/rbac.authorization.k8s.io/v1",
      [
        `clusterrolebindings ClusterRoleBinding false ${most}`,
        `clusterroles ClusterRole false ${most}`,
        `rolebindings RoleBinding true ${most}`,
        `roles Role true ${most}`,
      ],
    ],
    [
      "/apis/admissionregistration.k8s.io/v1",
      [
        `mutatingadmissionpolicies MutatingAdmissionPolicy false ${most} api-extensions`,
        `mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding false ${most} api-extensions`,
        `mutatingwebhookconfigurations MutatingWebhookConfiguration false ${most} api-extensions`,
        `validatingadmissionpolicies ValidatingAdmissionPolicy false ${most} api-extensions`,
        `validatingadmissionpolicies/status ValidatingAdmissionPolicy false ${status}`,
        `validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding false ${most} api-extensions`,
        `validatingwebhookconfigurations ValidatingWebhookConfiguration false ${most} api-extensions`,
      ],
    ],
    ["/apis/coordination.k8s.io/v1", [`leases Lease true ${most}`]],
    [
      "/apis/flowcontrol.apiserver.k8s.io/v1",
      [
        `flowschemas FlowSchema false ${most}`,
        `flowschemas/status FlowSchema false ${status}`,
        `prioritylevelconfigurations PriorityLevelConfiguration false ${most}`,
        `prioritylevelconfigurations/status PriorityLevelConfiguration false ${status}`,
      ],
    ],
  ];
  for (const [path, lines] of served) {
    it(`${path} has exactly the resources that kcp has`, async () => {
      const { resources } = await server.requestOk("GET", path);
      const found = (resources as Record<string, string | string[] | undefined>[]).map((each) =>
        [
          each["name"],
          each["kind"],
          each["namespaced"],
          each["verbs"],
          each["shortNames"] ?? each["categories"] ?? [],
        ]
          .map(String)
          .join(" ")
          .trim(),
      );
      assert.deepEqual(found, lines);
    });
  }

  it("responds 404 for groups that are not served, and a thousand such requests cost no memory", async () => {
    for (const path of ["/api/v2", "/apis/apps", "/apis/apps/v1", "/api/v1/pods", "/apis/a/b/c"]) {
      const answer = await server.get(path);
      assert.equal(answer.status, 404, path);
      assert.equal(answer.object.message, "the server could not find the requested resource");
    }
    const before = await server.get("/api/v1");
    for (let i = 0; i < 2000; i++) await server.get(`/apis/made-up-${i}`);
    assert.equal((await server.get("/api/v1")).text, before.text);
  });

  it("requires an authenticated user", async () => {
    assert.equal((await server.get("/api/v1", { user: "nobody" })).status, 200);
    assert.equal((await server.get("/api/v1", { user: "anonymous" })).status, 403);
    assert.equal((await server.request("POST", "/api/v1")).status, 404);
  });
});

describe("discovery as YAML", () => {
  for (const [path, line] of [
    ["/api", "kind: APIVersions"],
    ["/apis", "kind: APIGroupList"],
    ["/apis/apiextensions.k8s.io", "kind: APIGroup"],
    ["/api/v1", "groupVersion: v1"],
  ] as const)
    it(`${path} is sent to a client that accepts nothing else`, async () => {
      const { bytes, headers } = await server.get(path, {
        headers: { accept: "application/yaml" },
      });
      assert.equal(headers["content-type"], "application/yaml");
      assert.ok(bytes.toString().split("\n").includes(line));
    });
});

describe("aggregated discovery", () => {
  it("has the exact content type, and all groups in one document", async () => {
    for (const path of ["/api", "/apis"]) {
      const { headers, object, text } = await server.get(path, { headers: aggregated });
      assert.equal(
        headers["content-type"],
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
      );
      assert.equal(headers["vary"], "Accept");
      assert.equal(headers["cache-control"], "public");
      const sum = createHash("sha512").update(text).digest("hex").toUpperCase();
      assert.equal(headers["etag"], `"${sum}"`);
      assert.equal(object.kind, "APIGroupDiscoveryList");
      assert.equal(object.apiVersion, "apidiscovery.k8s.io/v2");
      assert.equal(object.items?.length, path === "/api" ? 1 : 9);
    }
    const { items } = await server.get("/clusters/a/api", { headers: aggregated });
    const core = items[0] as unknown as {
      metadata: { name: string };
      versions: { version: string; freshness: string; resources: Record<string, unknown>[] }[];
    };
    assert.equal(core.metadata.name, "");
    assert.equal(core.versions[0]?.version, "v1");
    assert.equal(core.versions[0]?.freshness, "Current");
    const namespaces = core.versions[0]?.resources.find(
      (each) => each["resource"] === "namespaces",
    );
    assert.deepEqual(namespaces, {
      resource: "namespaces",
      responseKind: { group: "", version: "", kind: "Namespace" },
      scope: "Cluster",
      singularResource: "namespace",
      verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
      shortNames: ["ns"],
      subresources: [
        {
          subresource: "finalize",
          responseKind: { group: "", version: "", kind: "Namespace" },
          verbs: ["update"],
        },
        {
          subresource: "status",
          responseKind: { group: "", version: "", kind: "Namespace" },
          verbs: ["get", "patch", "update"],
        },
      ],
    });
  });

  it("is not sent again to clients that have it", async () => {
    const first = await server.get("/api", { headers: aggregated });
    const etag = String(first.headers["etag"]);
    const again = await server.get("/api", { headers: { ...aggregated, "if-none-match": etag } });
    assert.equal(again.status, 304);
    assert.equal(again.bytes.length, 0);
    assert.equal(again.headers["etag"], etag);
    const other = await server.get("/api", { headers: { ...aggregated, "if-none-match": '"x"' } });
    assert.equal(other.status, 200);
  });

  it("of an old version falls back to the legacy form", async () => {
    const accept =
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    const { object, headers } = await server.get("/api", { headers: { accept } });
    assert.equal(object.kind, "APIVersions");
    assert.equal(headers["content-type"], "application/json");
  });
});
