/**
 * The properties of every built-in kind, through the server: the lifecycle from creation to
 * deletion, and the flags of its strategy.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  collectionPath,
  type SampleKind,
  sampleKinds,
  sampleObject,
  TestServer,
} from "../../testing/index.ts";
import { builtIns } from "./built-ins.ts";

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const at = (sample: SampleKind) => `/clusters/a${collectionPath(sample)}`;
const named = ({ base, resource }: SampleKind, ...names: readonly string[]) =>
  names.includes(`${base}/${resource}`) || names.includes(resource) || names.includes(base);

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";
const flowcontrol = "/apis/flowcontrol.apiserver.k8s.io/v1";

describe("every built-in kind", () => {
  it("has a sample, and every sample is of a built-in kind", () => {
    const stored = builtIns.filter(({ isReview }) => isReview !== true);
    const kinds = stored.map(
      ({ group, version, resource }) =>
        `${group === "" ? "/api" : `/apis/${group}`}/${version}/${resource}`,
    );
    assert.deepEqual(
      sampleKinds.map(({ base, resource }) => `${base}/${resource}`).sort(),
      kinds.sort(),
    );
  });

  for (const sample of sampleKinds) {
    describe(`${sample.base}/${sample.resource}`, () => {
      it("is created, listed, watched, patched and deleted", async () => {
        const path = at(sample);
        const name = `${sample.resource}-${sample.base.length}`;
        const created = await server.requestOk("POST", path, { body: sampleObject(sample, name) });
        assert.equal(created.kind, sample.kind);
        const { object: list } = await server.get(path);
        assert.equal(list.kind, `${sample.kind}List`);
        const item = list.items?.find(({ metadata }) => metadata.name === name);
        assert.equal(item?.kind, undefined, "built-in items do not name their kind");
        assert.equal(item?.metadata.uid, created.metadata.uid);
        const patched = await server.patch(`${path}/${name}`, "merge", {
          metadata: { labels: { patched: "yes" } },
        });
        assert.equal(patched.status, 200, patched.text);
        assert.equal(patched.object.metadata.labels?.["patched"], "yes");
        const deleted = await server.request("DELETE", `${path}/${name}`);
        assert.equal(deleted.status, 200, deleted.text);
        const returnsObject = named(sample, "namespaces", "serviceaccounts", "resourcequotas");
        assert.equal(deleted.object.kind, returnsObject ? sample.kind : "Status");
      });

      it("has a table with a cell for every column", async () => {
        const path = at(sample);
        const name = `${sample.resource}-${sample.base.length}-table`;
        await server.requestOk("POST", path, { body: sampleObject(sample, name) });
        const { object } = await server.get(path, {
          headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
        });
        const columns = object["columnDefinitions"] as { name: string; format: string }[];
        assert.equal(columns.filter(({ format }) => format === "name").length, 1);
        for (const { cells } of object["rows"] as { cells: unknown[] }[])
          assert.equal(cells.length, columns.length);
      });

      const creates = named(sample, "events", "leases", rbac);
      it(`PUT of a missing one ${creates ? "creates it" : "is a 404"}`, async () => {
        const name = `${sample.resource}-${sample.base.length}-put`;
        const answer = await server.request("PUT", `${at(sample)}/${name}`, {
          body: sampleObject(sample, name),
        });
        assert.equal(answer.status, creates ? 201 : 404, answer.text);
      });

      const needsVersion = named(sample, "leases", admission);
      it(`PUT without a version ${needsVersion ? "is refused" : "overwrites"}`, async () => {
        const name = `${sample.resource}-${sample.base.length}-version`;
        const path = at(sample);
        const body = sampleObject(sample, name);
        await server.requestOk("POST", path, { body });
        const answer = await server.request("PUT", `${path}/${name}`, { body });
        assert.equal(answer.status, needsVersion ? 422 : 200, answer.text);
        if (needsVersion) {
          const rule =
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
          assert.ok(answer.object.message?.endsWith(`is invalid: ${rule}`), answer.text);
        }
      });

      const tracks = named(sample, admission, flowcontrol);
      it(`${tracks ? "counts changes of what is wanted" : "has no generation"}`, async () => {
        const name = `${sample.resource}-${sample.base.length}-generation`;
        const path = at(sample);
        const created = await server.requestOk("POST", path, { body: sampleObject(sample, name) });
        assert.equal(created.metadata["generation"], tracks ? 1 : undefined);
        if (!tracks) return;
        const labelled = await server.patch(`${path}/${name}`, "merge", {
          metadata: { labels: { a: "b" } },
        });
        assert.equal(labelled.object.metadata["generation"], 1, "labels do not count");
        const changed = await server.patch(`${path}/${name}`, "merge", sample.body("y", ""));
        assert.equal(changed.object.metadata["generation"], 2, changed.text);
      });
    });
  }
});
