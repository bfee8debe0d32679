/** What Kubernetes fills in where a Pod, or a template of one, says nothing. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Draft } from "@kcp-ts/server/kinds";
import { fill, ownItems, ownObject, ownObjectIfThere } from "./drafts.ts";

const graceSecondsDefault = 30;
const fileModeDefault = 0o644;

export function setPodSpecDefaults(spec: Draft): void {
  fill(spec, "dnsPolicy", "ClusterFirst");
  fill(spec, "restartPolicy", "Always");
  fill(spec, "schedulerName", "default-scheduler");
  fill(spec, "terminationGracePeriodSeconds", graceSecondsDefault);
  fill(spec, "securityContext", {});
  const isOnHost = spec["hostNetwork"] === true;
  for (const member of ["initContainers", "containers", "ephemeralContainers"])
    for (const container of ownItems(spec, member)) setContainerDefaults(container, isOnHost);
  for (const volume of ownItems(spec, "volumes")) setVolumeDefaults(volume);
}

function setContainerDefaults(container: Draft, isOnHost: boolean): void {
  fill(container, "terminationMessagePath", "/dev/termination-log");
  fill(container, "terminationMessagePolicy", "File");
  fill(container, "imagePullPolicy", pullPolicyOf(String(container["image"] ?? "")));
  fill(container, "resources", {});
  for (const port of ownItems(container, "ports")) {
    fill(port, "protocol", "TCP");
    if (isOnHost && !port["hostPort"]) port["hostPort"] = port["containerPort"] ?? 0;
  }
  for (const member of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = ownObjectIfThere(container, member);
    if (probe !== undefined) setProbeDefaults(probe);
  }
  const lifecycle = ownObjectIfThere(container, "lifecycle");
  for (const member of ["postStart", "preStop"]) {
    const hook = lifecycle && ownObjectIfThere(lifecycle, member);
    if (hook !== undefined) setHandlerDefaults(hook);
  }
  for (const variable of ownItems(container, "env")) {
    const source = ownObjectIfThere(variable, "valueFrom");
    const field = source && ownObjectIfThere(source, "fieldRef");
    if (field !== undefined) fill(field, "apiVersion", "v1");
  }
}

/** An image without a tag means the newest one, which has to be asked for every time. */
function pullPolicyOf(image: string): string {
  if (image.includes("@")) return "IfNotPresent";
  const [, tag = "latest"] = /:([^:/]+)$/.exec(image) ?? [];
  return tag === "latest" ? "Always" : "IfNotPresent";
}

function setProbeDefaults(probe: Draft): void {
  for (const [member, value] of [
    ["timeoutSeconds", 1],
    ["periodSeconds", 10],
    ["successThreshold", 1],
    ["failureThreshold", 3],
  ] as const)
    if (!probe[member]) probe[member] = value;
  setHandlerDefaults(probe);
}

function setHandlerDefaults(handler: Draft): void {
  const http = ownObjectIfThere(handler, "httpGet");
  if (http !== undefined) {
    fill(http, "path", "/");
    fill(http, "scheme", "HTTP");
  }
  const grpc = ownObjectIfThere(handler, "grpc");
  if (grpc !== undefined && grpc["service"] === undefined) grpc["service"] = "";
}

function setVolumeDefaults(volume: Draft): void {
  if (Object.keys(volume).every((member) => member === "name")) volume["emptyDir"] = {};
  for (const member of ["secret", "configMap", "downwardAPI", "projected"]) {
    const source = ownObjectIfThere(volume, member);
    if (source !== undefined) fill(source, "defaultMode", fileModeDefault);
  }
  const host = ownObjectIfThere(volume, "hostPath");
  if (host !== undefined && host["type"] === undefined) host["type"] = "";
  const projected = ownObjectIfThere(volume, "projected");
  for (const source of projected === undefined ? [] : ownItems(projected, "sources")) {
    const token = ownObjectIfThere(source, "serviceAccountToken");
    if (token !== undefined) fill(token, "expirationSeconds", 3600);
  }
}

/** The templates of workload kinds: without what only Pods get. */
export function setTemplateDefaults(spec: Draft, member = "template"): void {
  const template = ownObject(spec, member);
  const metadata = ownObjectIfThere(template, "metadata");
  // Protobuf clients send it, and it means nothing here.
  if (metadata?.["generation"] === 0) delete metadata["generation"];
  setPodSpecDefaults(ownObject(template, "spec"));
}

const waitForNodeSeconds = 300;

/** What admission adds to new Pods in a real cluster: an account, a priority, patience with nodes that are not ready. */
export function setPodDefaults(draft: Draft): void {
  const spec = ownObject(draft, "spec");
  setPodSpecDefaults(spec);
  fill(spec, "enableServiceLinks", true);
  fill(spec, "serviceAccountName", spec["serviceAccount"] ?? "default");
  fill(spec, "serviceAccount", spec["serviceAccountName"] ?? "default");
  fill(spec, "preemptionPolicy", "PreemptLowerPriority");
  fill(spec, "priority", 0);
  for (const container of ownItems(spec, "containers")) requestWhatIsLimited(container);
  for (const container of ownItems(spec, "initContainers")) requestWhatIsLimited(container);
}

export function addPatience(draft: Draft): void {
  const spec = draft["spec"] as Draft;
  const tolerations = Array.isArray(spec["tolerations"])
    ? (spec["tolerations"] as JsonObject[])
    : [];
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter(
    (key) =>
      !tolerations.some(
        (one) =>
          (one["key"] === key || one["key"] === undefined) &&
          (one["effect"] === "NoExecute" || one["effect"] === undefined),
      ),
  );
  spec["tolerations"] = [
    ...tolerations,
    ...missing.map((key) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: waitForNodeSeconds,
    })),
  ];
}

function requestWhatIsLimited(container: Draft): void {
  const resources = container["resources"] as JsonObject;
  if (resources["limits"] === undefined) return;
  container["resources"] = {
    ...resources,
    requests: { ...(resources["limits"] as JsonObject), ...(resources["requests"] as JsonObject) },
  };
}

export function qosClassOf(spec: JsonObject): string {
  const containers = [
    ...((spec["containers"] ?? []) as JsonObject[]),
    ...((spec["initContainers"] ?? []) as JsonObject[]),
  ];
  let isAnything = false;
  let isGuaranteed = true;
  for (const container of containers) {
    const { requests = {}, limits = {} } = (container["resources"] ?? {}) as {
      requests?: JsonObject;
      limits?: JsonObject;
    };
    for (const name of ["cpu", "memory"]) {
      if (requests[name] !== undefined || limits[name] !== undefined) isAnything = true;
      if (limits[name] === undefined || limits[name] !== requests[name]) isGuaranteed = false;
    }
  }
  if (!isAnything) return "BestEffort";
  return isGuaranteed ? "Guaranteed" : "Burstable";
}
