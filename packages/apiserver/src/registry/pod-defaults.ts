/** What Kubernetes fills in where a Pod, or a template of one, says nothing: before admission, and again after it has changed something. */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { fill, ownItems, ownObjectIfThere } from "./own-parts.ts";
import type { Draft } from "./strategy.ts";

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

/** What only Pods get, and templates of them do not. */
export function setPodDefaults(spec: Draft): void {
  setPodSpecDefaults(spec);
  // The older name is the other one's alias.
  fill(spec, "serviceAccountName", spec["serviceAccount"] ?? "");
  if (spec["serviceAccountName"] === "") delete spec["serviceAccountName"];
  else spec["serviceAccount"] = spec["serviceAccountName"] as JsonValue;
  if (Number(spec["terminationGracePeriodSeconds"]) < 0) spec["terminationGracePeriodSeconds"] = 1;
  fill(spec, "enableServiceLinks", true);
  for (const member of ["containers", "initContainers"])
    for (const container of ownItems(spec, member)) requestWhatIsLimited(container);
}

function requestWhatIsLimited(container: Draft): void {
  const resources = ownObjectIfThere(container, "resources");
  const limits = resources?.["limits"];
  if (resources === undefined || !isJsonObject(limits)) return;
  const { requests } = resources;
  resources["requests"] = { ...limits, ...(isJsonObject(requests) ? requests : {}) };
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
    if (source !== undefined) setFieldDefaults(source);
  }
}

function setFieldDefaults(source: Draft): void {
  const field = ownObjectIfThere(source, "fieldRef");
  if (field !== undefined) fill(field, "apiVersion", "v1");
}

/** An image without a tag means the newest one, which has to be asked for every time; not so where its digest is given. */
function pullPolicyOf(image: string): string {
  const [named = "", digest] = image.split("@");
  const [, tag = digest === undefined ? "latest" : ""] = /:([^:/]+)$/.exec(named) ?? [];
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
  const image = ownObjectIfThere(volume, "image");
  if (image !== undefined)
    fill(image, "pullPolicy", pullPolicyOf(String(image["reference"] ?? "")));
  const claim = ownObjectIfThere(volume, "ephemeral");
  const template = claim && ownObjectIfThere(claim, "volumeClaimTemplate");
  const claimed = template && ownObjectIfThere(template, "spec");
  if (claimed !== undefined) fill(claimed, "volumeMode", "Filesystem");
  setDownwardDefaults(volume);
  const projected = ownObjectIfThere(volume, "projected");
  for (const source of projected === undefined ? [] : ownItems(projected, "sources")) {
    setDownwardDefaults(source);
    const token = ownObjectIfThere(source, "serviceAccountToken");
    if (token !== undefined) fill(token, "expirationSeconds", 3600);
  }
}

function setDownwardDefaults(holder: Draft): void {
  const downward = ownObjectIfThere(holder, "downwardAPI");
  for (const item of downward === undefined ? [] : ownItems(downward, "items"))
    setFieldDefaults(item);
}
