import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { haveSameHiddenClass } from "@kcp-ts/testkit";
import fc from "fast-check";
import type { RequestScope } from "../request/request-scope.ts";
import { parseRequestTarget, type SplitService } from "./parse-request-target.ts";

function scopeOf(target: string, options: { method?: string; header?: string } = {}): RequestScope {
  const { method = "GET", header: clusterHeader } = options;
  return parseRequestTarget({ method, target, clusterHeader }, split);
}

/** A view named `some`, of one cluster. */
const split: SplitService = (rawPath, decode) => {
  const [, , name, cluster = "", ...rest] = rawPath.split("/").map(decode);
  if (name !== "some") return undefined;
  return { service: { name }, cluster: cluster as ClusterName, path: `/${rest.join("/")}` };
};

/** `verb cluster group/version resource[/subresource] namespace/name`, or `verb cluster path`. */
function shown(scope: RequestScope): string {
  if (scope.kind === "path") return `${scope.verb} ${scope.cluster} ${scope.path}`;
  const { verb, cluster, group, version, resource, subresource, namespace, name } = scope;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  return `${verb} ${cluster} ${group}/${version} ${what} ${namespace}/${name}`;
}

function refusal(target: string, options: { method?: string; header?: string } = {}): number {
  try {
    scopeOf(target, options);
  } catch (error) {
    assert.ok(isStatusError(error), `${target} failed with ${String(error)}`);
    return error.code;
  }
  return 0;
}

describe("parseTarget: the scope", () => {
  it("has one hidden class for every form of request", () => {
    const first = scopeOf("/api/v1/namespaces/n/configmaps", { method: "POST" });
    for (const target of [
      "/api/v1/namespaces/n/configmaps/x",
      "/clusters/a/api/v1/namespaces",
      "/clusters/root:org/api/v1/namespaces",
      "/services/some/b/api/v1/namespaces",
      "/apis/x.io/v1/things?watch=true",
    ]) {
      const scope = scopeOf(target);
      assert.equal(scope.kind, "resource", target);
      assert.ok(haveSameHiddenClass(first, scope), target);
    }
  });
});

describe("parseTarget: views", () => {
  it("are those that the server defines, and other paths are non-resource paths", () => {
    const target = "/services/some/b/api/v1/namespaces";
    const { cluster, service } = scopeOf(target);
    assert.deepEqual({ cluster, service }, { cluster: "b", service: { name: "some" } });
    for (const method of ["GET", "POST"]) {
      scopeOf(target, { method });
      const plain = parseRequestTarget({ method, target, clusterHeader: undefined });
      assert.deepEqual([plain.kind, plain.cluster, plain.path], ["path", "root", target], method);
    }
    assert.equal(scopeOf("/services/other/b/api/v1/namespaces").kind, "path");
  });
});

describe("parseTarget: the resource of a path", () => {
  const rows: [method: string, target: string, expected: string][] = [
    // Logical clusters.
    ["GET", "/api/v1/namespaces", "list root /v1 namespaces /"],
    ["GET", "/clusters/a/api/v1/namespaces", "list a /v1 namespaces /"],
    ["GET", "/clusters/%61/api/v1/namespaces", "list a /v1 namespaces /"],
    ["GET", "/clusters/system:admin/api/v1/namespaces", "list system:admin /v1 namespaces /"],
    ["GET", "/clusters/system%3Aadmin/api/v1/namespaces", "list system:admin /v1 namespaces /"],
    ["GET", "/clusters/*/api/v1/namespaces", "list * /v1 namespaces /"],
    ["GET", "/clusters/%2A/api/v1/namespaces", "list * /v1 namespaces /"],
    ["GET", "/clusters/a", "get a /"],
    ["GET", "/clusters/a/", "get a /"],
    ["GET", "/clusters/a/version", "get a /version"],
    ["GET", "/clusters", "get root /clusters"],
    ["GET", "/apis/x.io/v1/clusters/a", "get root x.io/v1 clusters /a"],
    // Collections and objects.
    ["GET", "/api/v1/configmaps", "list root /v1 configmaps /"],
    ["GET", "/api/v1/namespaces/n/configmaps", "list root /v1 configmaps n/"],
    ["GET", "/api/v1/namespaces/n/configmaps/", "list root /v1 configmaps n/"],
    ["GET", "/api/v1/namespaces/n/configmaps/x", "get root /v1 configmaps n/x"],
    ["HEAD", "/api/v1/namespaces/n/configmaps/x", "get root /v1 configmaps n/x"],
    ["HEAD", "/api/v1/namespaces/n/configmaps", "list root /v1 configmaps n/"],
    ["POST", "/api/v1/namespaces/n/configmaps", "create root /v1 configmaps n/"],
    ["PUT", "/api/v1/namespaces/n/configmaps/x", "update root /v1 configmaps n/x"],
    ["PATCH", "/api/v1/namespaces/n/configmaps/x", "patch root /v1 configmaps n/x"],
    ["DELETE", "/api/v1/namespaces/n/configmaps/x", "delete root /v1 configmaps n/x"],
    ["DELETE", "/api/v1/namespaces/n/configmaps", "deletecollection root /v1 configmaps n/"],
    ["GET", "/apis/apps/v1/deployments", "list root apps/v1 deployments /"],
    [
      "GET",
      "/apis/apps/v1/namespaces/n/deployments/d/scale",
      "get root apps/v1 deployments/scale n/d",
    ],
    [
      "GET",
      "/apis/rbac/v1/clusterroles/system:discovery",
      "get root rbac/v1 clusterroles /system:discovery",
    ],
    [
      "GET",
      "/apis/rbac/v1/clusterroles/system%3Adiscovery",
      "get root rbac/v1 clusterroles /system:discovery",
    ],
    // Namespaces are resources and scopes.
    ["GET", "/api/v1/namespaces/", "list root /v1 namespaces /"],
    ["GET", "/api/v1/namespaces/n", "get root /v1 namespaces n/n"],
    ["DELETE", "/api/v1/namespaces/n", "delete root /v1 namespaces n/n"],
    ["GET", "/api/v1/namespaces/n/status", "get root /v1 namespaces/status n/n"],
    ["PUT", "/api/v1/namespaces/n/finalize", "update root /v1 namespaces/finalize n/n"],
    ["GET", "/api/v1/namespaces/n/status/x", "get root /v1 status n/x"],
    ["GET", "/api/v1/namespaces/n/namespaces", "list root /v1 namespaces n/"],
    // Watches.
    ["GET", "/api/v1/configmaps?watch=true", "watch root /v1 configmaps /"],
    ["GET", "/api/v1/configmaps?watch=1", "watch root /v1 configmaps /"],
    ["GET", "/api/v1/configmaps?watch", "watch root /v1 configmaps /"],
    ["GET", "/api/v1/configmaps?watch=false", "list root /v1 configmaps /"],
    ["GET", "/api/v1/configmaps?watch=False", "list root /v1 configmaps /"],
    ["GET", "/api/v1/configmaps?watch=0", "list root /v1 configmaps /"],
    ["GET", "/api/v1/namespaces/n/configmaps/x?watch=1", "get root /v1 configmaps n/x"],
    ["GET", "/api/v1/watch/configmaps", "watch root /v1 configmaps /"],
    ["GET", "/api/v1/watch/namespaces/n/configmaps", "watch root /v1 configmaps n/"],
    ["GET", "/api/v1/watch/namespaces/n/configmaps/x", "watch root /v1 configmaps n/x"],
    ["GET", "/clusters/a/api/v1/watch/namespaces", "watch a /v1 namespaces /"],
    ["GET", "/api/v1/watch", "list root /v1 watch /"],
    // Discovery and other paths.
    ["GET", "/", "get root /"],
    ["GET", "/api", "get root /api"],
    ["GET", "/api/", "get root /api/"],
    ["GET", "/api/v1", "get root /api/v1"],
    ["GET", "/api/v1/", "get root /api/v1/"],
    ["GET", "/apis", "get root /apis"],
    ["GET", "/apis/apps", "get root /apis/apps"],
    ["GET", "/apis/apps/v1", "get root /apis/apps/v1"],
    ["GET", "/apis/apps/v1/", "get root /apis/apps/v1/"],
    ["POST", "/version?x=y", "post root /version"],
    ["GET", "/apisomething/v1/x", "get root /apisomething/v1/x"],
    ["GET", "/%61pi/v1/secrets", "get root /api/v1/secrets"],
  ];
  for (const [method, target, expected] of rows) {
    it(`${method} ${target} is ${expected}`, () => {
      assert.equal(shown(scopeOf(target, { method })), expected);
    });
  }
});

describe("parseTarget: the cluster header", () => {
  const path = "/api/v1/namespaces";
  const rows: [target: string, header: string, expected: string | number][] = [
    [path, "a", "list a /v1 namespaces /"],
    [path, "*", "list * /v1 namespaces /"],
    [path, "", "list root /v1 namespaces /"],
    [`/clusters/a${path}`, "a", "list a /v1 namespaces /"],
    [`/clusters/a${path}`, "b", 400],
    [`/clusters/a${path}`, "*", 400],
    [`/clusters/*${path}`, "a", 400],
    [path, "a, b", 400],
    [path, "a/b", 400],
    [path, "..", 400],
    [path, "%61", 400],
  ];
  for (const [target, header, expected] of rows) {
    it(`${target} with X-Kubernetes-Cluster: ${header} gives ${expected}`, () => {
      if (typeof expected === "number") assert.equal(refusal(target, { header }), expected);
      else assert.equal(shown(scopeOf(target, { header })), expected);
    });
  }
});

describe("parseTarget: rejected targets", () => {
  const rows: [method: string, target: string, code: number][] = [
    ["GET", "/clusters/a/clusters/a/api/v1/namespaces", 404],
    ["GET", "/clusters/a/clusters", 404],
    ["GET", "/clusters//api/v1/namespaces", 400],
    ["GET", "/clusters/A/api/v1/namespaces", 400],
    ["GET", "/clusters/a_b/api/v1/namespaces", 400],
    ["GET", `/clusters/${"a".repeat(64)}/api/v1/namespaces`, 400],
    ["GET", "/clusters/../api/v1/namespaces", 400],
    ["GET", "/clusters/%2e%2e/api/v1/namespaces", 400],
    ["GET", "/clusters/a%2fb/api/v1/namespaces", 400],
    ["GET", "/clusters/%252A/api/v1/namespaces", 400],
    ["GET", "/clusters/%00/api/v1/namespaces", 400],
    ["GET", "/clusters/%ff/api/v1/namespaces", 400],
    ["GET", "/clusters/a%/api/v1/namespaces", 400],
    ["GET", "/clusters/root:Org/api/v1/namespaces", 400],
    ["GET", "/clusters/root::org/api/v1/namespaces", 400],
    ["GET", "/clusters/:root:org/api/v1/namespaces", 400],
    ["GET", "/clusters/root:-org/api/v1/namespaces", 400],
    ["GET", "/api/v1/namespaces/../secrets", 400],
    ["GET", "/api/v1/namespaces/%2e%2e/secrets", 400],
    ["GET", "/api/v1/namespaces/%2E./secrets", 400],
    ["GET", "/api/v1/namespaces/n/secrets/%2e", 400],
    ["GET", "/api/v1/namespaces/n/secrets/a%2fb", 400],
    ["GET", "/api/v1/namespaces/n/secrets/a%2Fb", 400],
    ["GET", "/api/v1/namespaces/n/secrets/a%25b", 400],
    ["GET", "/api/v1/namespaces/n/secrets/a%00b", 400],
    ["GET", "/api/v1/namespaces/n/secrets/%c3%28", 400],
    ["GET", "/version%2f..", 400],
    // Empty segments are invalid.
    ["GET", "/api/v1//configmaps", 404],
    ["GET", "/api/v1/namespaces//configmaps", 404],
    ["GET", "/api/v1/namespaces//configmaps/x", 404],
    ["DELETE", "/api/v1/namespaces//configmaps", 404],
    ["GET", "/api/v1/namespaces/n//x", 404],
    ["GET", "/api/v1/namespaces/n/configmaps//status", 404],
    ["GET", "/apis//v1/things", 404],
    ["GET", "/apis/apps//things", 404],
    ["GET", "/api/v1/namespaces/n/configmaps/x/y/z", 404],
    ["GET", "/api/v1/nodes/x/y/z", 404],
    // Methods.
    ["OPTIONS", "/api/v1/configmaps", 405],
    ["TRACE", "/api/v1/configmaps", 405],
    ["get", "/api/v1/configmaps", 405],
    ["POST", "/api/v1/watch/namespaces/n/configmaps", 405],
    ["DELETE", "/api/v1/watch/namespaces/n/configmaps/x", 405],
    // Malformed targets.
    ["GET", "http://host/api/v1/namespaces", 400],
    ["GET", "*", 400],
    ["GET", "", 400],
  ];
  for (const [method, target, code] of rows) {
    it(`${method} ${target.slice(0, 60)} is a ${code}`, () => {
      assert.equal(refusal(target, { method }), code);
    });
  }

  it("a leading double slash is not an API path", () => {
    for (const target of ["//api/v1/secrets", "/clusters/a//api/v1/secrets"]) {
      assert.equal(scopeOf(target).kind, "path");
    }
  });
});

describe("parseTarget: names from field selectors", () => {
  const nameOf = (selector: string, path = "/api/v1/namespaces/n/secrets", query = "") => {
    const scope = scopeOf(`${path}?fieldSelector=${encodeURIComponent(selector)}${query}`);
    assert.equal(scope.kind, "resource");
    return scope.kind === "resource" ? `${scope.verb} ${scope.name}` : "";
  };

  it("an exact name is the request's name, in lists and watches", () => {
    assert.equal(nameOf("metadata.name=x"), "list x");
    assert.equal(nameOf("metadata.name==x"), "list x");
    assert.equal(nameOf("type=Opaque,metadata.name=x"), "list x");
    assert.equal(nameOf("metadata.name=x", "/api/v1/secrets", "&watch=1"), "watch x");
    assert.equal(nameOf("metadata.name=x", "/api/v1/watch/secrets"), "watch x");
  });

  it("other requirements are not the request's name", () => {
    for (const selector of [
      "metadata.name!=x",
      "xmetadata.name=x",
      "metadata.namespace=x",
      "=",
      "",
    ]) {
      assert.equal(nameOf(selector), "list ", selector);
    }
  });

  it("an escaped comma does not begin a requirement, because a rule with one resourceName would then allow all of them", () => {
    assert.equal(nameOf("metadata.namespace!=x\\,metadata.name=y"), "list ");
    assert.equal(nameOf("type!=\\\\\\,metadata.name=y"), "list ");
  });

  it("a name in the path takes precedence over the selector", () => {
    assert.equal(
      nameOf("metadata.name=y", "/api/v1/watch/namespaces/n/secrets/x", "&watch=1"),
      "watch x",
    );
  });
});

describe("parseTarget: arbitrary text", () => {
  it("gives a scope or a Status, and no spelling reaches another cluster", () => {
    const piece = fc.oneof(
      fc.constantFrom("/", "//", "..", ".", "%2f", "%2e", "%2E%2E", "%", "*", "clusters", "a", "b"),
      fc.constantFrom("api", "apis", "v1", "namespaces", "configmaps", "watch", "?watch=1", "%25"),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const target = `/clusters/a/${pieces.join("/")}`;
        try {
          const scope = scopeOf(target);
          assert.equal(scope.cluster, "a");
          if (scope.kind !== "resource") return;
          for (const part of [scope.resource, scope.namespace, scope.name, scope.subresource]) {
            assert.ok(!/[/%\0]/.test(part) && part !== ".." && part !== ".", JSON.stringify(part));
          }
        } catch (error) {
          assert.ok(isStatusError(error), String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});
