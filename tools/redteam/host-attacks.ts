/** Hosts that a tenant names to the server send hostile responses. */
import { anyObject, definitionOfKind } from "@kcp-ts/machinery/schema";
import type { SeededRandom } from "@kcp-ts/testkit";
import {
  type Attack,
  anySize,
  get,
  patch,
  post,
  type Step,
  type StepResponse,
  times,
} from "./attack.ts";
import { registered } from "./cluster-attacks.ts";
import type { HostileHosts } from "./hostile-hosts.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

function anyAnswer(random: SeededRandom): string {
  const count = anySize(random, 3_000_000);
  switch (random.integer(6)) {
    case 0:
      return `[${"1,".repeat(count)}1]`;
    case 1:
      return "[".repeat(count);
    case 2:
      return `{${times(Math.min(count, 600_000), (i) => `"k${i}":1`).join()}}`;
    case 3:
      return `"${"x".repeat(count * 8)}"`;
    case 4:
      return `{"resources":[${times(count >> 5, (i) => `{"name":"r${i}","kind":"K${i}","verbs":["get"]}`).join()}]}`;
    default:
      return `{"items":[${times(count >> 5, (i) => `{"metadata":{"name":"n${i}"}}`).join()}]}`;
  }
}

/** Configurations with up to `count` webhooks each, which receive every ConfigMap. */
function* configurations(
  random: SeededRandom,
  hosts: HostileHosts,
  count: number,
): Generator<Step, void, StepResponse> {
  for (const kind of ["Mutating", "Validating"]) {
    yield post(`/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: `${kind}WebhookConfiguration`,
      metadata: { name: "w" },
      webhooks: times(1 + random.integer(count), (i) => ({
        name: `w${i}.example.com`,
        clientConfig: { url: `${hosts.url}/${kind}`, caBundle: hosts.caBundle },
        rules: [
          { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] },
        ],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Ignore",
        timeoutSeconds: 5,
      })),
    });
  }
}

const webhooks: Attack = {
  name: "webhooks with huge answers",
  *steps({ random, hosts }) {
    const huge = anyAnswer(random);
    const patched = Buffer.from(
      random.pick([
        `[{"op":"add","path":"/data","value":${huge}}]`,
        JSON.stringify(times(20_000, (i) => ({ op: "add", path: `/data/k${i}`, value: "v" }))),
      ]),
    ).toString("base64");
    hosts.answer = (_path, body) => {
      const uid = /"uid":"([^"]+)"/.exec(body)?.[1] ?? "";
      const response = random.pick([
        `"patchType":"JSONPatch","patch":"${patched}"`,
        `"warnings":${huge}`,
        `"auditAnnotations":${huge}`,
        `"status":{"message":${huge}}`,
      ]);
      return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"${uid}","allowed":true,${response}}}`;
    };
    yield* configurations(random, hosts, 3);
    for (const name of ["a", "b"]) {
      yield post(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: {} });
    }
  },
};

const receivers: Attack = {
  name: "many webhooks that receive large objects",
  *steps({ random, hosts }) {
    hosts.answer = (_path, body) => {
      const uid = /"uid":"([^"]+)"/.exec(body)?.[1] ?? "";
      const added = Buffer.from(`[{"op":"add","path":"/data/${uid}","value":"v"}]`);
      const response = random.chance(0.5)
        ? ""
        : `,"patchType":"JSONPatch","patch":"${added.toString("base64")}"`;
      return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"${uid}","allowed":true${response}}}`;
    };
    yield* configurations(random, hosts, 40);
    const data = random.pick<(size: number) => object>([
      (size) => ({ k: "x".repeat(size) }),
      (size) => ({ k: "世".repeat(size / 3) }),
      (size) => Object.fromEntries(times(Math.min(size >> 5, 15_000), (i) => [`k${i}`, "v"])),
    ])(random.chance(0.5) ? 1_000_000 : anySize(random, 1_000_000));
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data };
    yield post(configMaps, object);
    yield patch(`${configMaps}/a`, "merge-patch+json", { data: { more: "y" } });
    yield { method: "DELETE", path: configMaps };
  },
};

const clusters: Attack = {
  name: "SyncTargets with huge answers",
  *steps({ random, hosts }) {
    const huge = anyAnswer(random);
    hosts.answer = () => huge;
    yield* registered(hosts, ["one", "two"]);
    for (let i = 0; i < 10; i++) yield get("/apis/workload.kcp.io/v1alpha1/synctargets");
  },
};

const mounts: Attack = {
  name: "mounts with huge answers",
  *steps({ random, hosts, workspace }) {
    const huge = anyAnswer(random);
    hosts.answer = () => huge;
    yield {
      ...post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        definitionOfKind({
          group: "hold.example.com",
          version: "v1",
          kind: "Host",
          resource: "hosts",
          schema: anyObject(),
        }),
      ),
      waitsForDefinition: true,
    };
    yield post("/apis/hold.example.com/v1/hosts", {
      apiVersion: "hold.example.com/v1",
      kind: "Host",
      metadata: { name: "h" },
      status: { URL: hosts.url, phase: "Ready" },
    });
    yield post("/apis/tenancy.kcp.io/v1alpha1/workspaces", {
      apiVersion: "tenancy.kcp.io/v1alpha1",
      kind: "Workspace",
      metadata: { name: "mounted" },
      spec: { mount: { ref: { apiVersion: "hold.example.com/v1", kind: "Host", name: "h" } } },
    });
    yield get("/apis/tenancy.kcp.io/v1alpha1/workspaces/mounted");
    for (const path of ["/api/v1/configmaps", "/openapi/v2", "/apis"])
      yield { ...get(`/clusters/root:${workspace}:mounted${path}`), isFromRoot: true };
  },
};

const conversions: Attack = {
  name: "conversion webhooks of many large objects",
  *steps({ random, hosts }) {
    const huge = anyAnswer(random);
    const isHuge = random.chance(0.3);
    hosts.answer = (_path, body) => {
      const uid = /"uid":"([^"]+)"/.exec(body)?.[1] ?? "";
      const objects = isHuge ? huge : convertedObjects(body);
      return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"${uid}","result":{"status":"Success"},"convertedObjects":${objects}}}`;
    };
    const schema = { openAPIV3Schema: anyObject() };
    const version = { served: true, schema, subresources: { status: {} } };
    yield {
      ...post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: "shapes.hold.example.com" },
        spec: {
          group: "hold.example.com",
          scope: "Cluster",
          names: { plural: "shapes", kind: "Shape" },
          versions: [
            { ...version, name: "v1", storage: true },
            { ...version, name: "v2", storage: false },
          ],
          conversion: {
            strategy: "Webhook",
            webhook: {
              conversionReviewVersions: ["v1"],
              clientConfig: { url: `${hosts.url}/convert`, caBundle: hosts.caBundle },
            },
          },
        },
      }),
      waitsForDefinition: true,
    };
    const size = anySize(random, 900_000);
    const spec = random.pick<(size: number) => object>([
      (bytes) => ({ k: "x".repeat(bytes) }),
      (bytes) => ({ k: "世".repeat(bytes / 3) }),
      (bytes) => ({ k: times(Math.min(bytes >> 1, 79_000), () => 1) }),
    ])(size);
    const count = 1 + random.integer(Math.max(2, Math.min(200, 24_000_000 / (size + 1))));
    const shapes = "/apis/hold.example.com/v1/shapes";
    for (let i = 0; i < count; i++)
      yield post(shapes, {
        apiVersion: "hold.example.com/v1",
        kind: "Shape",
        metadata: { name: `s${i}` },
        spec,
      });
    const converted = "/apis/hold.example.com/v2/shapes";
    const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    yield get(converted);
    yield get(`${converted}?limit=500&resourceVersion=0`);
    yield get(converted, random.pick([table, "application/yaml", "application/json"]));
    yield get(`${converted}/s0`);
    yield { ...get(`${converted}?watch=true`), isWatched: true };
    yield patch(`${converted}/s0`, "merge-patch+json", { spec: { more: "y" } });
    yield { method: "DELETE", path: converted };
  },
};

/**
 * The objects of a review in the other version, as an honest webhook converts them. Among several
 * attacks, this host is also asked as the host of another attack.
 */
function convertedObjects(body: string): string {
  if (!body.startsWith('{"kind":"ConversionReview"')) return "[]";
  const { request } = JSON.parse(body) as {
    request: { desiredAPIVersion: string; objects: readonly object[] };
  };
  const { desiredAPIVersion: apiVersion, objects } = request;
  return JSON.stringify(objects.map((one) => ({ ...one, apiVersion })));
}

export const hostAttacks: readonly Attack[] = [webhooks, receivers, clusters, mounts, conversions];
