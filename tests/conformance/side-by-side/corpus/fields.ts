/** Every field of the workload kinds, one topic for each group of kinds. */
import { kindShapes } from "@kcp-ts/machinery/shape";
import type { CorpusTopic } from "../corpus-request.ts";
import { namespace } from "../requests.ts";
import { type FieldCase, fieldRequests } from "./field-requests.ts";
import { definitionOf, type NativeNames } from "./native-definition.ts";
import { autoscaling, core, networking, policies } from "./native-kinds.ts";
import { claims, storage } from "./native-storage-kinds.ts";
import { kinds } from "./workloads.ts";

function topic(
  name: string,
  cases: readonly (NativeNames & { readonly body: object })[],
  skipped: readonly string[],
): CorpusTopic {
  const home = `fields-${name}`;
  const fieldCases = cases.map((one): FieldCase => {
    const shape = kindShapes.get(`${one.apiVersion}/${one.kind}`);
    if (shape === undefined) throw new Error(`${one.kind} has no shape`);
    return { ...one, shape, skipped };
  });
  return {
    name: home,
    definitions: cases
      .filter(({ apiVersion }) => apiVersion !== "autoscaling/v1")
      .map(definitionOf),
    requests: [namespace(home), ...fieldCases.flatMap((one) => fieldRequests(one, home))],
  };
}

/** With an item in many of its lists, so that the fields of the item alone are at fault. */
const podSpec = {
  containers: [
    {
      name: "web",
      image: "nginx",
      ports: [{ containerPort: 80 }],
      env: [{ name: "E" }],
      volumeMounts: [{ name: "v", mountPath: "/v" }],
    },
  ],
  volumes: [{ name: "v" }],
  tolerations: ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 300,
  })),
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: {} },
  ],
  hostAliases: [{ ip: "10.0.0.1" }],
};
const ofPods = kinds
  .filter(({ kind }) => kind === "Pod")
  .map((kind) => ({ ...kind, body: { spec: podSpec } }));
/** What clusters with certain features have or drop, and what their admission looks up. */
const ofClusters = [
  ...["ClusterTrustBundleProjection", "PodCertificateProjection", "Lifecycle.stopSignal"],
  ...["PodSpec.priority", "PodSpec.priorityClassName", "PodSpec.runtimeClassName"],
  ...["RollingUpdateStatefulSetStrategy.maxUnavailable", "TypedObjectReference.namespace"],
  ...["ServiceSpec.clusterIP", "ServiceSpec.clusterIPs", "ServiceSpec.ipFamilies"],
  ...["ServiceSpec.ipFamilyPolicy", "ServicePort.nodePort", "ServiceSpec.healthCheckNodePort"],
  ...["PodSpec.overhead", "PodSpec.ephemeralContainers", "PodSpec.schedulingGroup"],
];
const others = kinds.filter(({ kind }) => kind !== "Pod");
const withBody = ({ spec, ...kind }: (typeof kinds)[number]) => ({ ...kind, body: { spec } });
/** Without labels that the server generates for each Job. */
const ownSelector = { manualSelector: true, selector: { matchLabels: { app: "web" } } };
const othersWithBody = others
  .map(withBody)
  .map((one) =>
    one.kind === "Job" ? { ...one, body: { spec: { ...one.body.spec, ...ownSelector } } } : one,
  );

/** What the clusters that know the devices check. */
const ofDevices = [
  ...["CELDeviceSelector", "DeviceConstraint", "DeviceToleration", "OpaqueDeviceConfiguration"],
  ...["DeviceClaim.constraints", "DeviceClaim.config", "DeviceClassSpec.config"],
  ...["ExactDeviceRequest.tolerations", "DeviceSelector.cel", "DeviceSubRequest.tolerations"],
  ...["ExactDeviceRequest.adminAccess", "ExactDeviceRequest.capacity"],
];

export const fields: readonly CorpusTopic[] = [
  topic("pods", ofPods, ofClusters),
  // Pods have the fields of templates.
  topic("workloads", othersWithBody, ["PodSpec", ...ofClusters]),
  topic("core", core, ["PodSpec", ...ofClusters]),
  topic("autoscaling", autoscaling, []),
  topic("networking", networking, []),
  topic("policies", policies, []),
  topic("storage", storage, []),
  topic("claims", claims, ofDevices),
];
