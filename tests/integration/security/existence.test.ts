/**
 * Goal: a rejection does not disclose whether an object exists that the user may not use: a
 * workspace type, an export, a workspace.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AttackFixture, admin, alice, type RawRequest, tom, vera } from "./attack-fixture.ts";

const tenancy = "apis/tenancy.kcp.io/v1alpha1";
const apis = "apis/apis.kcp.io";

let fixture: AttackFixture;
before(async () => {
  fixture = await AttackFixture.start();
  const types = `/clusters/root:org:theirs/${tenancy}/workspacetypes`;
  const makeType = (name: string, spec: object) =>
    fixture.expectSuccess(vera, "POST", types, { body: { metadata: { name }, spec } });
  await makeType("hidden", { extend: { with: [{ name: "universal", path: "root" }] } });
  await makeType("ring", { extend: { with: [{ name: "ring", path: "root:org:theirs" }] } });
  await makeType("barred", { limitAllowedParents: { none: true } });
  await fixture.expectSuccess(
    vera,
    "POST",
    `/clusters/root:org:theirs/${apis}/v1alpha2/apiexports`,
    { body: { metadata: { name: "hidden" }, spec: {} } },
  );
});
after(() => fixture.close());

/** What there is, and what there is not. */
const references = [
  { path: "root:org:theirs", name: "hidden" },
  { path: "root:org:theirs", name: "ring" },
  { path: "root:org:theirs", name: "barred" },
  { path: "root:org:theirs", name: "absent" },
  { path: "root:org:nowhere", name: "hidden" },
  { path: "root:org:theirs:below", name: "hidden" },
] as const;

/** Alice asks the same of each of them, and is answered in the same words. */
async function areAnsweredAlike(
  path: string,
  bodyOf: (reference: { path: string; name: string }) => object,
  { says }: { readonly says: string },
): Promise<void> {
  const seen = new Set<string>();
  const byName = references.map((one) =>
    one.path === "root:org:theirs" ? { ...one, path: fixture.victimCluster } : one,
  );
  for (const reference of [...references, ...byName, { path: "no-such-name", name: "hidden" }]) {
    const sent: RawRequest = { body: bodyOf(reference) };
    const { status, text } = await fixture.send(alice, "POST", path, sent);
    const { path: at, name } = reference;
    seen.add(`${status} ${text.replaceAll(`${at}:${name}`, "<reference>")}`);
  }
  assert.equal(seen.size, 1, [...seen].join("\n"));
  assert.ok([...seen][0]?.includes(says), [...seen][0]);
}

describe("what a tenant may not use is refused alike, there or not", () => {
  const mine = "/clusters/root:org:mine";

  it("as the type of a workspace", () =>
    areAnsweredAlike(
      `${mine}/${tenancy}/workspaces`,
      (type) => ({ metadata: { name: "x" }, spec: { type } }),
      {
        says: "unable to use workspace type <reference>: missing verb='use' permission on workspacetype",
      },
    ));

  it("as what a type of the tenant's own extends", async () => {
    let count = 0;
    const seen = new Set<string>();
    for (const one of references) {
      const name = `own-${count++}`;
      await fixture.expectSuccess(alice, "POST", `${mine}/${tenancy}/workspacetypes`, {
        body: { metadata: { name }, spec: { extend: { with: [one] } } },
      });
      const { status, text } = await fixture.send(alice, "POST", `${mine}/${tenancy}/workspaces`, {
        body: { metadata: { name: "x" }, spec: { type: { path: "root:org:mine", name } } },
      });
      seen.add(`${status} ${text.replaceAll(`${one.path}:${one.name}`, "<reference>")}`);
    }
    assert.equal(seen.size, 1, [...seen].join("\n"));
    assert.match([...seen][0] ?? "", /unable to use workspace type <reference>/);
  });

  it("as an export that is bound to", () =>
    areAnsweredAlike(
      `${mine}/${apis}/v1alpha2/apibindings`,
      (reference) => ({ metadata: { name: "x" }, spec: { reference: { export: reference } } }),
      { says: "unable to create APIBinding: no permission to bind to export <reference>" },
    ));

  it("as an export that endpoints are wanted of", () =>
    areAnsweredAlike(
      `${mine}/${apis}/v1alpha1/apiexportendpointslices`,
      (exported) => ({ metadata: { name: "x" }, spec: { export: exported } }),
      { says: "no permission to bind to export <reference>" },
    ));

  it("as a default binding of a type", () =>
    areAnsweredAlike(
      `${mine}/${tenancy}/workspacetypes`,
      ({ path, name }) => ({
        metadata: { name: "x" },
        spec: { defaultAPIBindings: [{ path, export: name }] },
      }),
      { says: "no permission to bind to export <reference>" },
    ));

  it("as a virtual workspace", async () => {
    const seen = new Set<string>();
    for (const name of ["hidden", "absent"])
      for (const cluster of [fixture.victimCluster, "2zzzzzzzzzzzzzzz"])
        for (const service of [
          `apiexport/${cluster}/${name}`,
          `initializingworkspaces/${cluster}:${name}`,
          `terminatingworkspaces/${cluster}:${name}`,
        ]) {
          const path = `/services/${service}/clusters/*/apis/core.kcp.io/v1alpha1/logicalclusters`;
          const { status, text } = await fixture.send(alice, "GET", path);
          seen.add(`${status} ${text}`);
        }
    assert.equal(seen.size, 1, [...seen].join("\n"));
  });
});

describe("a name without a path", () => {
  it("means the nearest type that may be used, whatever hidden ones are nearer", async () => {
    const types = (path: string) => `/clusters/${path}/${tenancy}/workspacetypes`;
    const rule = { apiGroups: ["tenancy.kcp.io"], verbs: ["*"] };
    const use = { ...rule, resources: ["workspacetypes"], resourceNames: ["shared"] };
    await fixture.grant(tom, "root", "use-shared", [use]);
    await fixture.grant(tom, fixture.attackerCluster, "make-workspaces", [
      { ...rule, resources: ["workspaces"] },
      { nonResourceURLs: ["/"], verbs: ["access"] },
    ]);
    const makeType = (path: string) =>
      fixture.expectSuccess(admin, "POST", types(path), {
        body: { metadata: { name: "shared" }, spec: {} },
      });
    const make = (name: string) =>
      fixture.expectSuccess<{ spec: { type: { path: string } } }>(
        tom,
        "POST",
        `/clusters/root:org:mine/${tenancy}/workspaces`,
        { body: { metadata: { name }, spec: { type: { name: "shared" } } } },
      );
    await makeType("root");
    assert.equal((await make("before")).spec.type.path, "root");
    await makeType("root:org");
    assert.equal((await make("after")).spec.type.path, "root");
  });

  it("that leads nowhere is said to, to those who would be allowed to use it", async () => {
    const { text } = await fixture.send(
      admin,
      "POST",
      `/clusters/root:org:mine/${tenancy}/workspaces`,
      { body: { metadata: { name: "x" }, spec: { type: { name: "absent" } } } },
    );
    assert.match(text, /workspace type \\"absent\\" cannot be resolved/);
  });
});
