import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatRoute, parentOf, parseRoute, type Route } from "./routes.ts";

describe("the addresses of the console", () => {
  const routes: readonly Route[] = [
    { screen: "workspace", cluster: "root:org:team", query: {} },
    { screen: "list", cluster: "*", resource: "pods", query: { labels: "app=web,a in (b,c)" } },
    {
      screen: "object",
      cluster: "root",
      resource: "roles.rbac.authorization.k8s.io",
      namespace: "default",
      name: "system:a/b %&?#",
      query: {},
    },
    {
      screen: "object",
      cluster: "root",
      resource: "namespaces",
      name: "x",
      query: { tab: "yaml" },
    },
    { screen: "placement", cluster: "root", namespace: "shop", name: "deployment-web", query: {} },
  ];
  for (const route of routes)
    it(`${formatRoute(route)} is read as it was written`, () => {
      const url = new URL(formatRoute(route), "https://host");
      assert.deepEqual(parseRoute(url.pathname, url.search), route);
    });

  it("addresses that mean nothing are no routes", () => {
    for (const path of [
      "/console/",
      "/console/c/",
      "/console/c/root/nothing",
      "/console/c/root/list",
    ])
      assert.equal(parseRoute(path, ""), undefined, path);
  });

  it("the parent of a workspace is one part shorter", () => {
    assert.equal(parentOf("root:org:team"), "root:org");
    assert.equal(parentOf("root"), undefined);
  });
});
