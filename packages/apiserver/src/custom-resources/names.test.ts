/**
 * Names are assigned first come, first served; conditions report conflicts, and a name is assigned
 * when it becomes free.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type AnyObject,
  condition,
  conditionOf,
  definitionsPath,
  install,
  TestServer,
} from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const path = `/clusters/a${definitionsPath}`;
let server: TestServer;
before(async () => {
  server = await TestServer.start();
  await install(server, cronTabs());
});
after(() => server.close());

type AnyNames = { readonly plural?: string; readonly [name: string]: unknown };

const conflicts: [reason: string, names: AnyNames, message: string][] = [
  [
    "PluralConflict",
    { plural: "ct", singular: "e", kind: "E", shortNames: [] },
    '"ct" is already in use',
  ],
  [
    "SingularConflict",
    { singular: "crontab", kind: "A", shortNames: [] },
    '"crontab" is already in use',
  ],
  [
    "ShortNamesConflict",
    { singular: "b", kind: "B", shortNames: ["ct", "x"] },
    '"ct" is already in use',
  ],
  [
    "KindConflict",
    { singular: "c", kind: "CronTab", shortNames: [], listKind: "CList" },
    '"CronTab" is already in use',
  ],
  [
    "ListKindConflict",
    { singular: "d", kind: "D", listKind: "CronTabList", shortNames: [] },
    '"CronTabList" is already in use',
  ],
];

describe("a definition with a name conflict", () => {
  for (const [i, [reason, names, message]] of conflicts.entries()) {
    it(`is not established: ${reason}`, async () => {
      const plural = names.plural ?? `plural${i}`;
      await server.requestOk("POST", path, { body: cronTabs({ names: { ...names, plural } }) });
      const object = await condition(
        server,
        `${plural}.stable.example.com`,
        "NamesAccepted",
        "False",
      );
      assert.equal(conditionOf(object, "NamesAccepted")?.reason, reason);
      assert.equal(conditionOf(object, "NamesAccepted")?.message, message);
      assert.equal(conditionOf(object, "Established")?.reason, "NotAccepted");
      assert.equal(conditionOf(object, "Established")?.message, "not all names are accepted");
      assert.equal(
        (await server.get(`/clusters/a/apis/stable.example.com/v1/${plural}`)).status,
        404,
      );
    });
  }

  it("is established in another cluster without the conflict", async () => {
    const names = { plural: "plural0", singular: "crontab", kind: "A", shortNames: [] };
    const object = await install(server, cronTabs({ names }), "b");
    assert.equal(conditionOf(object, "NamesAccepted")?.status, "True");
  });

  it("gets the name when it becomes free", async () => {
    await server.requestOk("DELETE", `${path}/crontabs.stable.example.com`);
    const object = await condition(server, "plural3.stable.example.com", "Established", "True");
    const { acceptedNames } = object["status"] as { acceptedNames: AnyObject };
    assert.equal(acceptedNames.kind, "CronTab");
  });

  it("with a built-in kind is not established, but other kinds of built-in groups are", async () => {
    const taken = {
      plural: "configmaps",
      singular: "configmap",
      kind: "ConfigMap",
      shortNames: [],
    };
    await server.requestOk("POST", path, { body: cronTabs({ group: "", names: taken }) });
    const object = await condition(server, "configmaps.core", "NamesAccepted", "False");
    assert.match(conditionOf(object, "NamesAccepted")?.message ?? "", /is already in use/);
    const free = { plural: "pods", singular: "pod", kind: "Pod", shortNames: ["po"] };
    await install(server, cronTabs({ group: "", names: free }));
    const pods = "/clusters/a/api/v1/namespaces/default/pods";
    const pod = await server.requestOk("POST", pods, { body: { metadata: { name: "p" } } });
    assert.equal(pod.apiVersion, "v1");
    const { resources } = await server.requestOk("GET", "/clusters/a/api/v1");
    assert.ok((resources as { name: string }[]).some(({ name }) => name === "pods"));
    const inB = await server.requestOk("GET", "/clusters/b/api/v1");
    assert.ok(!(inB["resources"] as { name: string }[]).some(({ name }) => name === "pods"));
  });

  it("in a protected group reports whether it is approved", async () => {
    const names = { plural: "gates", singular: "gate", kind: "Gate", shortNames: [] };
    const approved = cronTabs({ group: "gateway.networking.k8s.io", names });
    const annotations = {
      "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/x/pull/1",
    };
    const object = await install(server, {
      ...approved,
      metadata: { ...approved.metadata, annotations },
    });
    const found = conditionOf(object, "KubernetesAPIApprovalPolicyConformant");
    assert.equal(found?.status, "True");
    assert.equal(found?.reason, "ApprovedAnnotation");
    assert.equal(found?.message, "approved in https://github.com/kubernetes-sigs/x/pull/1");
  });
});
