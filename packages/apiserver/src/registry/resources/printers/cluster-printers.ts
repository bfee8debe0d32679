/**
 * The columns of the kinds around workloads: Services and their endpoints, Ingresses, volumes,
 * Nodes, autoscalers, disruption budgets.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  ageColumn,
  type Column,
  itemsAt,
  labelsText,
  memberAt,
  noneText,
  numberAt,
  scalarText,
  selectorText,
  templateColumns,
  textAt,
  textOrNoneAt,
} from "./workload-cells.ts";

function ports(object: JsonObject): string {
  const shown = itemsAt(object, "spec", "ports").map(({ port, nodePort, protocol = "TCP" }) =>
    typeof nodePort === "number" && nodePort > 0
      ? `${scalarText(port)}:${nodePort}/${scalarText(protocol)}`
      : `${scalarText(port)}/${scalarText(protocol)}`,
  );
  return shown.length === 0 ? noneText : shown.join(",");
}

function balancers(object: JsonObject): string {
  return itemsAt(object, "status", "loadBalancer", "ingress")
    .map(({ ip, hostname }) => scalarText(ip ?? hostname))
    .filter((text) => text !== "")
    .join(",");
}

function externalAddress(object: JsonObject): string {
  const type = textOrNoneAt(object, "spec", "type");
  if (type === "ExternalName") return textOrNoneAt(object, "spec", "externalName");
  const shown = [balancers(object), ...textsAt(object, "spec", "externalIPs")].filter(Boolean);
  if (shown.length > 0) return shown.join(",");
  return type === "LoadBalancer" ? "<pending>" : noneText;
}

/** The first three texts, and the number of the others. */
function firstOf(texts: readonly string[], otherwise: string, shownMax = 3, joint = ","): string {
  if (texts.length === 0) return otherwise;
  const more = texts.length > shownMax ? ` + ${texts.length - shownMax} more...` : "";
  return texts.slice(0, shownMax).join(joint) + more;
}

function hosts(object: JsonObject): string {
  const named = itemsAt(object, "spec", "rules").map((rule) => textAt(rule, "host"));
  return firstOf(named.filter(Boolean), "*");
}

function endpointsText(object: JsonObject): string {
  const texts = itemsAt(object, "subsets").flatMap((subset) =>
    itemsAt(subset, "addresses").flatMap((address) => {
      const ports = itemsAt(subset, "ports");
      const ip = textAt(address, "ip");
      return ports.length === 0 ? [ip] : ports.map(({ port }) => `${ip}:${scalarText(port)}`);
    }),
  );
  return firstOf(texts, noneText);
}

function textsAt(object: JsonObject, ...path: readonly string[]): readonly string[] {
  const value = memberAt(object, ...path);
  return Array.isArray(value) ? value.map(scalarText) : [];
}

function classParameters(object: JsonObject): string {
  const [kind, group] = ["kind", "apiGroup"].map((field) =>
    textAt(object, "spec", "parameters", field),
  );
  if (kind === "") return noneText;
  const name = textAt(object, "spec", "parameters", "name");
  return `${group === "" ? kind : `${kind}.${group}`}/${name}`;
}

function addressParent(object: JsonObject): string {
  const parts = ["resource", "namespace", "name"].map((field) =>
    textAt(object, "spec", "parentRef", field),
  );
  return parts.filter(Boolean).join("/");
}

function revisionOwner(object: JsonObject): string {
  const [owner] = itemsAt(object, "metadata", "ownerReferences");
  if (owner === undefined) return noneText;
  const [group] = textAt(owner, "apiVersion").split("/");
  return `${textAt(owner, "kind").toLowerCase()}.${group}/${textAt(owner, "name")}`;
}

function disruptionLimit(field: string) {
  return (object: JsonObject) => scalarText(memberAt(object, "spec", field)) || "N/A";
}

const accessModes: ReadonlyMap<string, string> = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);

function accessOf(object: JsonObject, member: "spec" | "status"): string {
  const modes = textsAt(object, member, "accessModes");
  return [...accessModes]
    .flatMap(([mode, short]) => (modes.includes(mode) ? [short] : []))
    .join(",");
}

function claimStatus(object: JsonObject): string {
  return memberAt(object, "metadata", "deletionTimestamp") === undefined
    ? textAt(object, "status", "phase")
    : "Terminating";
}

function unset(text: string): string {
  return text === "" ? "<unset>" : text;
}

function nodeStatus(object: JsonObject): string {
  const ready = itemsAt(object, "status", "conditions").find(({ type }) => type === "Ready");
  const text = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return memberAt(object, "spec", "unschedulable") === true ? `${text},SchedulingDisabled` : text;
}

const rolePrefix = "node-role.kubernetes.io/";

function roles(object: JsonObject): string {
  const labels = memberAt(object, "metadata", "labels");
  if (!isJsonObject(labels)) return noneText;
  const found = new Set<string>();
  for (const key of Object.keys(labels)) {
    if (key.startsWith(rolePrefix) && key.length > rolePrefix.length)
      found.add(key.slice(rolePrefix.length));
    else if (key === "kubernetes.io/role" && labels[key] !== "") found.add(scalarText(labels[key]));
  }
  return found.size === 0 ? noneText : [...found].sort().join(",");
}

const nodeAddress = (type: string) => (object: JsonObject) => {
  const found = itemsAt(object, "status", "addresses").find((each) => each["type"] === type);
  return found === undefined ? noneText : textOrNoneAt(found, "address");
};

const nodeInfo = (field: string) => (object: JsonObject) => {
  const text = textOrNoneAt(object, "status", "nodeInfo", field);
  return text === noneText ? "<unknown>" : text;
};

const metricSources: ReadonlyMap<JsonValue, string> = new Map([
  ["External", "external"],
  ["Pods", "pods"],
  ["Object", "object"],
  ["Resource", "resource"],
  ["ContainerResource", "containerResource"],
]);
const metricsShown = 2;

/** `cpu: 40%/80%`; a value that is not known yet is `<unknown>`. */
function metric(spec: JsonObject, status: JsonObject | undefined): string {
  const source = metricSources.get(spec["type"] ?? "");
  if (source === undefined) return "<unknown type>";
  const target = memberAt(spec, source, "target") ?? {};
  const current = status === undefined ? undefined : memberAt(status, source, "current");
  const of = (value: JsonValue | undefined, field: string): string | undefined => {
    const found = isJsonObject(value) ? value[field] : undefined;
    return found === undefined ? undefined : scalarText(found);
  };
  const isResource = source === "resource" || source === "containerResource";
  const name = isResource ? `${textOrNoneAt(spec, source, "name")}: ` : "";
  const field = of(target, "averageValue") === undefined ? "value" : "averageValue";
  if (isResource && field === "value") {
    const percent = (value: string | undefined) => (value === undefined ? undefined : `${value}%`);
    const used = percent(of(current, "averageUtilization")) ?? "<unknown>";
    return `${name}${used}/${percent(of(target, "averageUtilization")) ?? "<auto>"}`;
  }
  const average = field === "averageValue" && (source === "external" || source === "object");
  const used = of(current, field) ?? "<unknown>";
  return `${name}${used}/${of(target, field) ?? ""}${average ? " (avg)" : ""}`;
}

function targets(object: JsonObject): string {
  // In v1, there is one metric.
  const percent = memberAt(object, "spec", "targetCPUUtilizationPercentage");
  if (percent !== undefined) {
    const used = memberAt(object, "status", "currentCPUUtilizationPercentage");
    return `cpu: ${used === undefined ? "<unknown>" : `${scalarText(used)}%`}/${scalarText(percent)}%`;
  }
  const statuses = itemsAt(object, "status", "currentMetrics");
  const shown = itemsAt(object, "spec", "metrics").map((spec, i) => metric(spec, statuses[i]));
  return firstOf(shown, noneText, metricsShown, ", ");
}

const flag =
  (...path: readonly string[]) =>
  (object: JsonObject): boolean =>
    memberAt(object, ...path) === true;

function tokenAudiences(object: JsonObject): string {
  if (memberAt(object, "spec", "tokenRequests") === undefined) return "<unset>";
  return itemsAt(object, "spec", "tokenRequests")
    .map((request) => textAt(request, "audience"))
    .join(",");
}

function claimState(object: JsonObject): string {
  const states = [
    ...(memberAt(object, "metadata", "deletionTimestamp") === undefined ? [] : ["deleted"]),
    ...(memberAt(object, "status", "allocation") === undefined ? [] : ["allocated"]),
    ...(itemsAt(object, "status", "reservedFor").length === 0 ? [] : ["reserved"]),
  ];
  const isPending = states.every((state) => state === "deleted");
  return [...states, ...(isPending ? ["pending"] : [])].join(",");
}

export const clusterTables: readonly (readonly [key: string, columns: readonly Column[]])[] = [
  [
    "/Service",
    [
      ["Type", "string", (object) => textOrNoneAt(object, "spec", "type")],
      ["Cluster-IP", "string", (object) => textOrNoneAt(object, "spec", "clusterIP")],
      ["External-IP", "string", externalAddress],
      ["Port(s)", "string", ports],
      ageColumn,
      ["Selector", "string", (object) => labelsText(memberAt(object, "spec", "selector")), 1],
    ],
  ],
  [
    "networking.k8s.io/Ingress",
    [
      ["Class", "string", (object) => textOrNoneAt(object, "spec", "ingressClassName")],
      ["Hosts", "string", hosts],
      ["Address", "string", balancers],
      [
        "Ports",
        "string",
        (object) => (itemsAt(object, "spec", "tls").length > 0 ? "80, 443" : "80"),
      ],
      ageColumn,
    ],
  ],
  [
    "/PersistentVolumeClaim",
    [
      ["Status", "string", claimStatus],
      ["Volume", "string", (object) => textAt(object, "spec", "volumeName")],
      [
        "Capacity",
        "string",
        (object) =>
          textAt(object, "spec", "volumeName") === ""
            ? ""
            : textAt(object, "status", "capacity", "storage"),
      ],
      [
        "Access Modes",
        "string",
        (object) => (textAt(object, "spec", "volumeName") === "" ? "" : accessOf(object, "status")),
      ],
      ["StorageClass", "string", (object) => textAt(object, "spec", "storageClassName")],
      [
        "VolumeAttributesClass",
        "string",
        (object) => unset(textAt(object, "spec", "volumeAttributesClassName")),
      ],
      ageColumn,
      ["VolumeMode", "string", (object) => unset(textAt(object, "spec", "volumeMode")), 1],
    ],
  ],
  [
    "/PersistentVolume",
    [
      ["Capacity", "string", (object) => textAt(object, "spec", "capacity", "storage")],
      ["Access Modes", "string", (object) => accessOf(object, "spec")],
      [
        "Reclaim Policy",
        "string",
        (object) => textAt(object, "spec", "persistentVolumeReclaimPolicy"),
      ],
      ["Status", "string", claimStatus],
      [
        "Claim",
        "string",
        (object) =>
          memberAt(object, "spec", "claimRef") === undefined
            ? ""
            : `${textAt(object, "spec", "claimRef", "namespace")}/${textAt(object, "spec", "claimRef", "name")}`,
      ],
      ["StorageClass", "string", (object) => textAt(object, "spec", "storageClassName")],
      [
        "VolumeAttributesClass",
        "string",
        (object) => unset(textAt(object, "spec", "volumeAttributesClassName")),
      ],
      ["Reason", "string", (object) => textAt(object, "status", "reason")],
      ageColumn,
      ["VolumeMode", "string", (object) => unset(textAt(object, "spec", "volumeMode")), 1],
    ],
  ],
  ["/Endpoints", [["Endpoints", "string", endpointsText], ageColumn]],
  [
    "discovery.k8s.io/EndpointSlice",
    [
      ["AddressType", "string", (object) => textAt(object, "addressType")],
      [
        "Ports",
        "string",
        (object) =>
          firstOf(
            itemsAt(object, "ports").map(({ port = "*" }) => scalarText(port)),
            "<unset>",
          ),
      ],
      [
        "Endpoints",
        "string",
        (object) =>
          firstOf(
            itemsAt(object, "endpoints").flatMap((each) => textsAt(each, "addresses")),
            "<unset>",
          ),
      ],
      ageColumn,
    ],
  ],
  [
    "networking.k8s.io/IngressClass",
    [
      ["Controller", "string", (object) => textAt(object, "spec", "controller")],
      ["Parameters", "string", classParameters],
      ageColumn,
    ],
  ],
  [
    "networking.k8s.io/NetworkPolicy",
    [
      ["Pod-Selector", "string", (object) => selectorText(memberAt(object, "spec", "podSelector"))],
      ageColumn,
    ],
  ],
  [
    "networking.k8s.io/ServiceCIDR",
    [["CIDRs", "string", (object) => textsAt(object, "spec", "cidrs").join(",")], ageColumn],
  ],
  ["networking.k8s.io/IPAddress", [["ParentRef", "string", addressParent], ageColumn]],
  [
    "policy/PodDisruptionBudget",
    [
      ["Min Available", "string", disruptionLimit("minAvailable")],
      ["Max Unavailable", "string", disruptionLimit("maxUnavailable")],
      [
        "Allowed Disruptions",
        "integer",
        (object) => numberAt(object, "status", "disruptionsAllowed"),
      ],
      ageColumn,
    ],
  ],
  [
    "apps/ControllerRevision",
    [
      ["Controller", "string", revisionOwner],
      ["Revision", "string", (object) => numberAt(object, "revision")],
      ageColumn,
    ],
  ],
  [
    "/Node",
    [
      ["Status", "string", nodeStatus],
      ["Roles", "string", roles],
      ageColumn,
      ["Version", "string", (object) => textAt(object, "status", "nodeInfo", "kubeletVersion")],
      ["Internal-IP", "string", nodeAddress("InternalIP"), 1],
      ["External-IP", "string", nodeAddress("ExternalIP"), 1],
      ["OS-Image", "string", nodeInfo("osImage"), 1],
      ["Kernel-Version", "string", nodeInfo("kernelVersion"), 1],
      ["Container-Runtime", "string", nodeInfo("containerRuntimeVersion"), 1],
    ],
  ],
  [
    "autoscaling/HorizontalPodAutoscaler",
    [
      [
        "Reference",
        "string",
        (object) =>
          `${textAt(object, "spec", "scaleTargetRef", "kind")}/${textAt(object, "spec", "scaleTargetRef", "name")}`,
      ],
      ["Targets", "string", targets],
      [
        "MinPods",
        "string",
        (object) => {
          const least = memberAt(object, "spec", "minReplicas");
          return typeof least === "number" ? String(least) : "<unset>";
        },
      ],
      ["MaxPods", "string", (object) => numberAt(object, "spec", "maxReplicas")],
      ["Replicas", "string", (object) => numberAt(object, "status", "currentReplicas")],
      ageColumn,
    ],
  ],
  [
    "/ReplicationController",
    [
      ["Desired", "integer", (object) => numberAt(object, "spec", "replicas")],
      ["Current", "integer", (object) => numberAt(object, "status", "replicas")],
      ["Ready", "integer", (object) => numberAt(object, "status", "readyReplicas")],
      ageColumn,
      ...templateColumns(["spec", "template"]),
      ["Selector", "string", (object) => labelsText(memberAt(object, "spec", "selector")), 1],
    ],
  ],
  [
    "/PodTemplate",
    [
      ...templateColumns(["template"]).map(([name, type, cell]): Column => [name, type, cell]),
      [
        "Pod Labels",
        "string",
        (object) => labelsText(memberAt(object, "template", "metadata", "labels")),
      ],
    ],
  ],
  [
    "scheduling.k8s.io/PriorityClass",
    [
      ["Value", "integer", (object) => numberAt(object, "value")],
      ["Global-Default", "boolean", flag("globalDefault")],
      ageColumn,
      ["PreemptionPolicy", "string", (object) => textAt(object, "preemptionPolicy")],
    ],
  ],
  [
    "node.k8s.io/RuntimeClass",
    [["Handler", "string", (object) => textAt(object, "handler")], ageColumn],
  ],
  [
    "storage.k8s.io/StorageClass",
    [
      ["Provisioner", "string", (object) => textAt(object, "provisioner")],
      ["ReclaimPolicy", "string", (object) => textAt(object, "reclaimPolicy")],
      ["VolumeBindingMode", "string", (object) => textAt(object, "volumeBindingMode")],
      ["AllowVolumeExpansion", "string", flag("allowVolumeExpansion")],
      ageColumn,
    ],
  ],
  [
    "storage.k8s.io/VolumeAttributesClass",
    [["DriverName", "string", (object) => textAt(object, "driverName")], ageColumn],
  ],
  [
    "storage.k8s.io/VolumeAttachment",
    [
      ["Attacher", "string", (object) => textAt(object, "spec", "attacher")],
      ["PV", "string", (object) => textAt(object, "spec", "source", "persistentVolumeName")],
      ["Node", "string", (object) => textAt(object, "spec", "nodeName")],
      ["Attached", "boolean", flag("status", "attached")],
      ageColumn,
    ],
  ],
  [
    "storage.k8s.io/CSIDriver",
    [
      ["AttachRequired", "boolean", flag("spec", "attachRequired")],
      ["PodInfoOnMount", "boolean", flag("spec", "podInfoOnMount")],
      ["StorageCapacity", "boolean", flag("spec", "storageCapacity")],
      ["TokenRequests", "string", tokenAudiences],
      ["RequiresRepublish", "boolean", flag("spec", "requiresRepublish")],
      [
        "Modes",
        "string",
        (object) => textsAt(object, "spec", "volumeLifecycleModes").join(",") || noneText,
      ],
      ageColumn,
    ],
  ],
  [
    "storage.k8s.io/CSINode",
    [["Drivers", "integer", (object) => itemsAt(object, "spec", "drivers").length], ageColumn],
  ],
  ["resource.k8s.io/ResourceClaim", [["State", "string", claimState], ageColumn]],
];
