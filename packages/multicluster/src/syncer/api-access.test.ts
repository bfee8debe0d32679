/**
 * Goal: Pods of every kind find their logical cluster where in-cluster clients look for a server,
 * and nothing else in the Pods changes.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { SeededRandom } from "@kcp-ts/testkit";
import { apiAccessSecretName } from "../api/index.ts";
import { accountFolder, serverNames, withApiAccess } from "./api-access.ts";

type Wrap = (spec: JsonObject) => JsonObject;

const inTemplate: Wrap = (spec) => ({
  spec: { replicas: 2, template: { metadata: { labels: { app: "web" } }, spec } },
});
const kinds: readonly (readonly [group: string, kind: string, wrap: Wrap])[] = [
  ["apps", "Deployment", inTemplate],
  ["apps", "ReplicaSet", inTemplate],
  ["apps", "StatefulSet", inTemplate],
  ["apps", "DaemonSet", inTemplate],
  ["batch", "Job", inTemplate],
  ["batch", "CronJob", (spec) => ({ spec: { schedule: "@daily", jobTemplate: inTemplate(spec) } })],
  ["", "Pod", (spec) => ({ spec })],
];

const target = "us-east1";
const at = (group: string, kind: string) => ({
  resource: { group, kind },
  namespace: "demo",
  name: "web",
  target,
});
const given = (spec: JsonObject, kind = "Deployment") =>
  withApiAccess({ spec: { template: { spec } } }, at("apps", kind)) as unknown as {
    readonly spec: { readonly template: { readonly spec: PodSpec } };
  };
const specOf = (spec: JsonObject) => given(spec).spec.template.spec;

interface Container {
  readonly name?: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}
interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly serviceAccountName?: string;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly projected?: object }[];
}

const secret = apiAccessSecretName({ kind: "Deployment", name: "web", target });
const variable = (name: string, key: string, secretName = secret) => ({
  name,
  valueFrom: { secretKeyRef: { name: secretName, key } },
});

describe("access to the logical cluster", () => {
  for (const [group, kind, wrap] of kinds) {
    it(`access is given to the Pods of a ${kind}`, () => {
      const name = apiAccessSecretName({ kind, name: "web", target });
      const before = { containers: [{ name: "main", image: "app:1" }] };
      const env = [
        variable("KUBERNETES_SERVICE_HOST", "host", name),
        variable("KUBERNETES_SERVICE_PORT", "port", name),
        variable("KUBERNETES_SERVICE_PORT_HTTPS", "port", name),
      ];
      const mount = { name: "kcp-api-access", mountPath: accountFolder, readOnly: true };
      const file = (key: string) => ({ key, path: key });
      const after = {
        containers: [{ name: "main", image: "app:1", env, volumeMounts: [mount] }],
        automountServiceAccountToken: false,
        volumes: [
          {
            name: "kcp-api-access",
            projected: {
              sources: [
                { secret: { name, items: [file("token"), file("namespace")] } },
                { secret: { name, items: [file("ca.crt")], optional: true } },
              ],
            },
          },
        ],
      };
      assert.deepEqual(withApiAccess(wrap(before), at(group, kind)), wrap(after));
    });
  }

  it("access is given to every container, init containers included, in addition to their own mounts and variables", () => {
    const own = { name: "data", mountPath: "/data" };
    const spec = specOf({
      serviceAccountName: "robot",
      initContainers: [{ name: "migrate" }],
      containers: [
        { name: "main", env: [{ name: "A", value: "$(KUBERNETES_SERVICE_HOST)" }] },
        { name: "side", volumeMounts: [own] },
      ],
      volumes: [{ name: "data", emptyDir: {} }],
    });
    const all = [...(spec.initContainers ?? []), ...spec.containers];
    assert.deepEqual(
      all.map(({ env = [] }) => env.map(({ name }) => name)),
      [
        ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS"],
        [
          "KUBERNETES_SERVICE_HOST",
          "KUBERNETES_SERVICE_PORT",
          "KUBERNETES_SERVICE_PORT_HTTPS",
          "A",
        ],
        ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS"],
      ],
    );
    assert.deepEqual(
      all.map(({ volumeMounts = [] }) => volumeMounts.map(({ mountPath }) => mountPath)),
      [[accountFolder], [accountFolder], ["/data", accountFolder]],
    );
    assert.deepEqual(
      spec.volumes?.map(({ name }) => name),
      ["data", "kcp-api-access"],
    );
    assert.equal(spec.serviceAccountName, "robot");
  });

  it("a container that mounts a volume at the path, or names a server itself, is unchanged", () => {
    const mounted = (mountPath: string) => ({ volumeMounts: [{ name: "own", mountPath }] });
    const kept = [
      mounted(accountFolder),
      mounted(`${accountFolder}/`),
      mounted("/run/secrets/kubernetes.io/serviceaccount"),
      mounted(`/var//run/./secrets/kubernetes.io/serviceaccount`),
      mounted(`${accountFolder}/token`),
      { env: [{ name: "KUBERNETES_SERVICE_HOST", value: "elsewhere" }] },
      { env: [{ name: "KUBERNETES_SERVICE_PORT", value: "1" }] },
    ];
    for (const container of kept) {
      const alone = { containers: [container] };
      assert.equal(specOf(alone), alone, JSON.stringify(container));
      const { containers, automountServiceAccountToken } = specOf({
        containers: [container, { name: "other" }],
      });
      assert.equal(containers[0], container);
      assert.equal(containers[1]?.env?.length, 3);
      assert.equal(automountServiceAccountToken, false);
    }
    for (const around of ["/var/run/secrets", "/var/run/secrets/kubernetes.io/serviceaccounts"])
      assert.equal(specOf({ containers: [mounted(around)] }).containers[0]?.env?.length, 3, around);
  });

  it("Pods that disable automounting of a token get no access", () => {
    const spec = { automountServiceAccountToken: false, containers: [{ name: "main" }] };
    assert.equal(specOf(spec), spec);
    const willing = { automountServiceAccountToken: true, containers: [{ name: "main" }] };
    assert.equal(specOf(willing).automountServiceAccountToken, false);
  });

  it("the volume gets another name when its name is taken", () => {
    const { volumes, containers } = specOf({
      containers: [{ name: "main" }],
      volumes: [{ name: "kcp-api-access", emptyDir: {} }],
    });
    assert.deepEqual(
      volumes?.map(({ name }) => name),
      ["kcp-api-access", "kcp-api-access-1"],
    );
    assert.equal(containers[0]?.volumeMounts?.[0]?.name, "kcp-api-access-1");
  });

  it("Pods get the name of their upstream namespace", () => {
    const field = (fieldPath: string) => ({ name: "N", valueFrom: { fieldRef: { fieldPath } } });
    const { containers } = specOf({
      containers: [{ env: [field("metadata.namespace"), field("metadata.name")] }],
    });
    assert.deepEqual(containers[0]?.env?.slice(3), [
      { name: "N", value: "demo" },
      field("metadata.name"),
    ]);
  });

  it("Pods get the server's usual DNS names where an address for them is given", () => {
    const named = (spec: JsonObject, address: string | undefined) => {
      const place = { ...at("apps", "Deployment"), address };
      const after = withApiAccess({ spec: { template: { spec } } }, place) as unknown as {
        readonly spec: { readonly template: { readonly spec: { readonly hostAliases?: unknown } } };
      };
      return after.spec.template.spec.hostAliases;
    };
    const containers = [{ name: "main" }];
    const [ip, names] = ["203.0.113.7", [...serverNames]];
    assert.deepEqual(named({ containers }, ip), [{ ip, hostnames: names }]);
    for (const no of [undefined, "", "kcp.example", "203.0.113.7:443", "203.0.113"])
      assert.equal(named({ containers }, no), undefined);
    assert.equal(named({ containers, hostNetwork: true }, ip), undefined);
    assert.equal(named({ containers, automountServiceAccountToken: false }, ip), undefined);
    // Host aliases of the template take precedence.
    const [first = "", ...others] = names;
    const own = { ip: "198.51.100.1", hostnames: [first] };
    assert.deepEqual(named({ containers, hostAliases: [own] }, ip), [
      own,
      { ip, hostnames: others },
    ]);
    const same = { ip, hostnames: ["db", first] };
    assert.deepEqual(named({ containers, hostAliases: [same] }, ip), [
      { ip, hostnames: ["db", first, ...others] },
    ]);
  });

  it("access uses a Secret of this workload in this cluster", () => {
    const of = { kind: "Deployment", name: "web", target };
    const others = [
      { ...of, kind: "StatefulSet" },
      { ...of, name: "web2" },
      { ...of, target: "us-west1" },
      { ...of, name: "a".repeat(253) },
      { ...of, name: `${"a".repeat(199)}.b` },
    ];
    const names = [of, ...others].map(apiAccessSecretName);
    assert.equal(new Set(names).size, names.length);
    for (const name of names) {
      assert.ok(name.length <= 253);
      assert.match(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    }
  });

  it("custom kinds and invalid templates are unchanged", () => {
    const body = inTemplate({ containers: [{ name: "main" }] });
    assert.equal(withApiAccess(body, at("example.io", "Deployment")), body);
    assert.equal(withApiAccess(body, at("", "ConfigMap")), body);
    const odd: readonly JsonObject[] = [
      {},
      { spec: null },
      { spec: { template: [] } },
      { spec: { template: { spec: { containers: "many", volumes: {} } } } },
      { spec: { template: { spec: { containers: [null, 3, []] } } } },
    ];
    for (const one of odd) assert.equal(withApiAccess(one, at("apps", "Deployment")), one);
  });

  it("a workload that has access already is unchanged", () => {
    for (let seed = 0; seed < 200; seed++) {
      const spec = randomSpec(new SeededRandom(seed));
      const once = specOf(spec);
      const twice = specOf({ ...once, automountServiceAccountToken: true } as never);
      const { automountServiceAccountToken: _, ...rest } = twice;
      const { automountServiceAccountToken: __, ...first } = once;
      assert.deepEqual(rest, first, `seed ${seed}`);
      assert.deepEqual(specOf(once as never), once, `seed ${seed}`);
    }
  });
});

function randomSpec(random: SeededRandom): JsonObject {
  const pick = <Value>(values: readonly Value[]) =>
    values[Math.floor(random.next() * values.length)] as Value;
  const container = (): JsonValue => ({
    name: pick(["a", "b"]),
    env: Array.from({ length: Math.floor(random.next() * 3) }, () => ({
      name: pick(["A", "KUBERNETES_SERVICE_PORT", "B"]),
      value: "x",
    })),
    volumeMounts: Array.from({ length: Math.floor(random.next() * 2) }, () => ({
      name: "v",
      mountPath: pick(["/data", accountFolder, "/var/run"]),
    })),
  });
  const some = () => Array.from({ length: Math.floor(random.next() * 3) }, container);
  return {
    containers: [container(), ...some()],
    initContainers: some(),
    ...(random.next() < 0.3 ? { volumes: [{ name: pick(["v", "kcp-api-access"]) }] } : {}),
  };
}
