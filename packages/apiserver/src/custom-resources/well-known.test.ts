/**
 * Definitions modelled on those of widely used projects: installed, used, explained, applied,
 * upgraded.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, definitionsPath, install, TestServer } from "../testing/index.ts";
import { samples } from "./test-support/well-known.ts";

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

interface Spec {
  readonly group: string;
  readonly scope: string;
  readonly names: { readonly plural: string; readonly kind: string };
  readonly versions: readonly { readonly name: string }[];
}

for (const { definition, spec, stored = spec, bad, message } of samples) {
  const { group, scope, names, versions } = definition["spec"] as Spec;
  const version = versions[0]?.name ?? "";
  const apiVersion = `${group}/${version}`;
  const path = (name: string) =>
    `/clusters/a/apis/${group}/${name}${scope === "Namespaced" ? "/namespaces/default" : ""}/${names.plural}`;

  describe(names.kind, () => {
    before(() => install(server, definition));

    it("is created with its defaults, and rejected with its messages", async () => {
      const body = { apiVersion, kind: names.kind, metadata: { name: "one" }, spec };
      const created = await server.requestOk("POST", `${path(version)}?fieldValidation=Strict`, {
        body,
      });
      assert.deepEqual(created["spec"], stored);
      const refused = await server.request("POST", path(version), {
        body: { metadata: { name: "two" }, spec: bad },
      });
      assert.equal(refused.status, 422, refused.text);
      assert.match(refused.object.message ?? "", message);
    });

    it("has an explanation in OpenAPI", async () => {
      const { paths } = (await server.get("/clusters/a/openapi/v3")).object as unknown as {
        paths: Record<string, { serverRelativeURL: string }>;
      };
      const url = paths[`apis/${apiVersion}`]?.serverRelativeURL;
      assert.ok(url !== undefined);
      const { components } = (await server.get(`/clusters/a${url}`)).object as unknown as {
        components: {
          schemas: Record<
            string,
            { "x-kubernetes-group-version-kind"?: object[]; properties?: object }
          >;
        };
      };
      const schema = Object.values(components.schemas).find((each) =>
        JSON.stringify(each["x-kubernetes-group-version-kind"])?.includes(`"${names.kind}"`),
      );
      assert.deepEqual(Object.keys(schema?.properties ?? {}).sort(), [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
      ]);
    });

    it("is applied, twice with the same result", async () => {
      const config = { apiVersion, kind: names.kind, metadata: { name: "applied" }, spec };
      const apply = () =>
        server.request("PATCH", `${path(version)}/applied?fieldManager=test`, {
          headers: { "content-type": "application/apply-patch+yaml" },
          body: config,
        });
      const first = await apply();
      assert.equal(first.status, 201, first.text);
      assert.deepEqual(first.object["spec"], stored);
      const second = await apply();
      assert.equal(second.object.metadata.resourceVersion, first.object.metadata.resourceVersion);
    });

    it("gets a new version, which becomes the storage version", async () => {
      const crd = `/clusters/a${definitionsPath}/${names.plural}.${group}`;
      const object = await server.requestOk("GET", crd);
      const old = (object["spec"] as Spec).versions[0] as object;
      const versions = [
        { ...old, storage: false },
        { ...old, name: "v9", storage: true },
      ];
      await server.requestOk("PUT", crd, {
        body: { ...object, spec: { ...(object["spec"] as object), versions } },
      });
      const read: AnyObject = await server.requestOk("GET", `${path("v9")}/one`);
      assert.equal(read.apiVersion, `${group}/v9`);
      assert.deepEqual(read["spec"], stored);
      const patched = await server.patch(`${path("v9")}/one`, "merge", {
        metadata: { labels: { a: "b" } },
      });
      assert.equal(patched.status, 200, patched.text);
      const again = await server.requestOk("GET", `${path(version)}/one`);
      assert.equal(again.apiVersion, apiVersion);
      assert.deepEqual(again["spec"], stored);
    });

    it("is deleted with its objects", async () => {
      const crd = `/clusters/a${definitionsPath}/${names.plural}.${group}`;
      const watch = await server.watch(
        `/clusters/a${definitionsPath}?watch=1&fieldSelector=metadata.name%3D${names.plural}.${group}`,
      );
      await server.requestOk("DELETE", crd);
      for (;;) if ((await watch.take(1))[0]?.type === "DELETED") break;
      await watch.leave();
      assert.equal((await server.get(`${path("v9")}/one`)).status, 404);
    });
  });
}
