/**
 * A policy that is updated object by object decides like a policy that is built from its final
 * objects, and like a model that iterates over all objects.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import fc from "fast-check";
import { ClusterPolicy, type PolicyKey, RbacAuthorizer } from "../index.ts";

const names = fc.constantFrom("a", "b", "c");
const namespaces = fc.constantFrom("n", "m");
const verbs = ["get", "list"];
const resources = ["x", "y"];

const some = (values: readonly string[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 2 });
const rules = fc.array(
  fc.record({
    verbs: some([...verbs, "*"]),
    apiGroups: fc.constant([""]),
    resources: some([...resources, "*"]),
  }),
  { maxLength: 2 },
);
const labels = fc.constantFrom<JsonObject[]>({}, { l: "1" }, { l: "2" });
const role = fc
  .record({ rules, labels, gathers: fc.constantFrom("", "", "1", "2") })
  .map(({ rules: own, labels: shown, gathers }) => ({
    metadata: { labels: shown },
    rules: own,
    ...(gathers === ""
      ? {}
      : { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { l: gathers } }] } }),
  }));
const plainRole = rules.map((own) => ({ metadata: {}, rules: own }));
const subjects = fc.array(
  fc.record({ kind: fc.constantFrom("User", "Group"), name: fc.constantFrom("u", "v") }),
  { maxLength: 3 },
);
const bindingOf = (kinds: readonly string[]) =>
  fc.record({ roleRef: fc.record({ kind: fc.constantFrom(...kinds), name: names }), subjects });

interface Step {
  readonly key: PolicyKey;
  /** Undefined deletes the object. */
  readonly object: JsonObject | undefined;
}

const stepOf = (
  resource: PolicyKey["resource"],
  where: fc.Arbitrary<string>,
  object: fc.Arbitrary<JsonObject>,
): fc.Arbitrary<Step> =>
  fc.record({
    key: fc.record({ resource: fc.constant(resource), namespace: where, name: names }),
    object: fc.option(object, { nil: undefined, freq: 3 }),
  });

const nowhere = fc.constant("");
const step = fc.oneof(
  stepOf("clusterroles", nowhere, role),
  stepOf("roles", namespaces, plainRole),
  stepOf("clusterrolebindings", nowhere, bindingOf(["ClusterRole"])),
  stepOf("rolebindings", namespaces, bindingOf(["Role", "ClusterRole"])),
);

function textOf({ resource, namespace, name }: PolicyKey): string {
  return `${resource}/${namespace}/${name}`;
}

/** Every (verb, resource, namespace) that user u in group v may access. */
async function allowedBy(policy: ClusterPolicy): Promise<string[]> {
  const rbac = new RbacAuthorizer({ peek: () => policy, load: async () => policy });
  const allowed: string[] = [];
  for (const verb of verbs)
    for (const resource of resources)
      for (const namespace of ["", "n", "m"]) {
        const decision = await rbac.authorize({
          user: { username: "u", groups: ["v"] },
          cluster: "t" as ClusterName,
          verb,
          resource,
          namespace,
          group: "",
          version: "v1",
          subresource: "",
          name: "",
          path: "",
          isResourceRequest: true,
        });
        if (decision.allowed) allowed.push(`${verb} ${resource} ${namespace}`);
      }
  return allowed;
}

type Stored = Map<string, Step & { readonly object: JsonObject }>;

function modelAllows(stored: Stored, verb: string, resource: string, namespace: string): boolean {
  const clusterRoles = [...stored.values()].filter(({ key }) => key.resource === "clusterroles");
  const rulesOf = (name: string, seen: ReadonlySet<string>): JsonObject[] => {
    const found = clusterRoles.find(({ key }) => key.name === name);
    if (found === undefined || seen.has(name)) return [];
    const gathered = found.object["aggregationRule"] as
      | { clusterRoleSelectors: [{ matchLabels: { l: string } }] }
      | undefined;
    if (gathered === undefined) return found.object["rules"] as JsonObject[];
    const { l } = gathered.clusterRoleSelectors[0].matchLabels;
    return clusterRoles
      .filter(({ object }) => (object["metadata"] as { labels: { l?: string } }).labels.l === l)
      .flatMap(({ key }) => rulesOf(key.name, new Set([...seen, name])));
  };
  const has = (list: unknown, value: string) =>
    (list as string[]).includes(value) || (list as string[]).includes("*");
  return [...stored.values()].some(({ key, object }) => {
    const isBinding = key.resource === "clusterrolebindings" || key.resource === "rolebindings";
    if (!isBinding || (key.namespace !== "" && key.namespace !== namespace)) return false;
    const whom = object["subjects"] as { kind: string; name: string }[];
    if (!whom.some(({ kind, name }) => (kind === "User" ? name === "u" : name === "v")))
      return false;
    const { kind, name } = object["roleRef"] as { kind: string; name: string };
    const local = stored.get(textOf({ resource: "roles", namespace: key.namespace, name }));
    const given = kind === "Role" ? (local?.object["rules"] ?? []) : rulesOf(name, new Set());
    return (given as JsonObject[]).some(
      (rule) => has(rule["verbs"], verb) && has(rule["resources"], resource),
    );
  });
}

describe("a policy", () => {
  it("decides the same after every history of its objects", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const kept = new ClusterPolicy();
        const stored: Stored = new Map();
        for (const { key, object } of steps) {
          if (object === undefined) {
            kept.remove(key);
            stored.delete(textOf(key));
          } else {
            kept.put(key, object);
            stored.set(textOf(key), { key, object });
          }
          // Decisions in between fill the caches, which must not outlive their objects.
          await allowedBy(kept);
        }
        const fresh = new ClusterPolicy();
        for (const { key, object } of stored.values()) fresh.put(key, object);
        const expected = verbs.flatMap((verb) =>
          resources.flatMap((resource) =>
            ["", "n", "m"]
              .filter((namespace) => modelAllows(stored, verb, resource, namespace))
              .map((namespace) => `${verb} ${resource} ${namespace}`),
          ),
        );
        assert.deepEqual(await allowedBy(kept), expected);
        assert.deepEqual(await allowedBy(fresh), expected);
      }),
      { numRuns: 300 },
    );
  });
});
