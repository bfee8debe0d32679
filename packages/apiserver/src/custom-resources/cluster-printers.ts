/** The columns of the kinds around workloads: Services, Ingresses, volumes, Nodes, autoscalers. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  ageColumn,
  type Column,
  itemsAt,
  labelsText,
  memberAt,
  noneText,
  numberAt,
  textOrNoneAt,
} from "./workload-cells.ts";

function ports(object: JsonObject): string {
  const shown = itemsAt(object, "spec", "ports").map(({ port, nodePort, protocol = "TCP" }) =>
    typeof nodePort === "number" && nodePort > 0
      ? `${String(port)}:${nodePort}/${String(protocol)}`
      : `${String(port)}/${String(protocol)}`,
  );
  return shown.length === 0 ? noneText : shown.join(",");
}

function balancers(object: JsonObject): string {
  return itemsAt(object, "status", "loadBalancer", "ingress")
    .map(({ ip, hostname }) => String(ip ?? hostname ?? ""))
    .filter((text) => text !== "")
    .join(",");
}

function externalAddress(object: JsonObject): string {
  const type = textOrNoneAt(object, "spec", "type");
  if (type === "ExternalName") return textOrNoneAt(object, "spec", "externalName");
  const own = memberAt(object, "spec", "externalIPs");
  const shown = [balancers(object), ...(Array.isArray(own) ? own.map(String) : [])].filter(Boolean);
  if (shown.length > 0) return shown.join(",");
  return type === "LoadBalancer" ? "<pending>" : noneText;
}

const hostsShown = 3;

function hosts(object: JsonObject): string {
  const named = itemsAt(object, "spec", "rules")
    .map(({ host }) => host)
    .filter((host) => typeof host === "string" && host !== "");
  if (named.length === 0) return "*";
  const more = named.length > hostsShown ? ` + ${named.length - hostsShown} more...` : "";
  return named.slice(0, hostsShown).join(",") + more;
}

const accessModes: ReadonlyMap<JsonValue, string> = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);

function accessOf(object: JsonObject): string {
  const modes = memberAt(object, "status", "accessModes");
  if (!Array.isArray(modes)) return "";
  return [...accessModes]
    .flatMap(([mode, short]) => (modes.includes(mode) ? [short] : []))
    .join(",");
}

const textAt = (object: JsonObject, ...path: readonly string[]): string => {
  const text = textOrNoneAt(object, ...path);
  return text === noneText ? "" : text;
};

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
    else if (key === "kubernetes.io/role" && labels[key] !== "") found.add(String(labels[key]));
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
    return found === undefined ? undefined : String(found);
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
  const specs = itemsAt(object, "spec", "metrics");
  if (specs.length === 0) return noneText;
  const statuses = itemsAt(object, "status", "currentMetrics");
  const shown = specs.slice(0, metricsShown).map((spec, i) => metric(spec, statuses[i]));
  const more = specs.length > metricsShown ? ` + ${specs.length - metricsShown} more...` : "";
  return shown.join(", ") + more;
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
        (object) => (textAt(object, "spec", "volumeName") === "" ? "" : accessOf(object)),
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
];
