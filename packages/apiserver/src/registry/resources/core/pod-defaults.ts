/**
 * Kubernetes' defaults of a Pod, or of a Pod template: set before admission, and again after a
 * mutation.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  mutableItems,
  mutableMember,
  mutableMemberIfPresent,
  setDefault,
} from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";

const graceSecondsDefault = 30;
const fileModeDefault = 0o644;

/** The defaults of a Pod template: without those that only Pods get. */
export function setTemplateDefaults(spec: Draft, member = "template"): void {
  const template = mutableMember(spec, member);
  const metadata = mutableMember(template, "metadata");
  // Protobuf clients send a generation of 0, which means nothing here.
  if (metadata["generation"] === 0) delete metadata["generation"];
  setPodSpecDefaults(mutableMember(template, "spec"));
}

export function setPodSpecDefaults(spec: Draft): void {
  // The older field name is an alias of the other one.
  setDefault(spec, "serviceAccountName", spec["serviceAccount"] ?? "");
  if (spec["serviceAccountName"] === "") delete spec["serviceAccountName"];
  else spec["serviceAccount"] = spec["serviceAccountName"] as JsonValue;
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "terminationGracePeriodSeconds", graceSecondsDefault);
  setDefault(spec, "securityContext", {});
  for (const member of ["initContainers", "containers", "ephemeralContainers"])
    for (const container of mutableItems(spec, member)) setContainerDefaults(container);
  for (const volume of mutableItems(spec, "volumes")) setVolumeDefaults(volume);
}

/** Defaults of Pods that templates do not get. */
export function setPodDefaults(spec: Draft): void {
  setPodSpecDefaults(spec);
  if (Number(spec["terminationGracePeriodSeconds"]) < 0) spec["terminationGracePeriodSeconds"] = 1;
  setDefault(spec, "enableServiceLinks", true);
  for (const member of ["containers", "initContainers"])
    for (const container of mutableItems(spec, member)) {
      requestWhatIsLimited(container);
      if (spec["hostNetwork"] === true) setHostPorts(container);
    }
}

/** On the host's network, what a container listens on is the host's port. */
function setHostPorts(container: Draft): void {
  for (const port of mutableItems(container, "ports"))
    if (!port["hostPort"]) port["hostPort"] = port["containerPort"] ?? 0;
}

function requestWhatIsLimited(container: Draft): void {
  const resources = mutableMemberIfPresent(container, "resources");
  const limits = resources?.["limits"];
  if (resources === undefined || !isJsonObject(limits)) return;
  const { requests } = resources;
  resources["requests"] = { ...limits, ...(isJsonObject(requests) ? requests : {}) };
}

function setContainerDefaults(container: Draft): void {
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  setDefault(container, "imagePullPolicy", pullPolicyOf(String(container["image"] ?? "")));
  setDefault(container, "resources", {});
  for (const port of mutableItems(container, "ports")) setDefault(port, "protocol", "TCP");
  for (const member of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = mutableMemberIfPresent(container, member);
    if (probe !== undefined) setProbeDefaults(probe);
  }
  const lifecycle = mutableMemberIfPresent(container, "lifecycle");
  for (const member of ["postStart", "preStop"]) {
    const hook = lifecycle && mutableMemberIfPresent(lifecycle, member);
    if (hook !== undefined) setHandlerDefaults(hook);
  }
  for (const variable of mutableItems(container, "env")) {
    const source = mutableMemberIfPresent(variable, "valueFrom");
    if (source !== undefined) setFieldDefaults(source);
  }
}

function setFieldDefaults(source: Draft): void {
  const field = mutableMemberIfPresent(source, "fieldRef");
  if (field !== undefined) setDefault(field, "apiVersion", "v1");
}

/**
 * An image without a tag means the newest one, which has to be pulled every time; except with a
 * digest.
 */
const host = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const word = "[a-z0-9]+(?:(?:[.]|__?|-+)[a-z0-9]+)*";
/** The name of an image: its registry, if it has one, and its path. */
const imageName = new RegExp(`^(?:${host}(?:[.]${host})*(?::[0-9]+)?/)?${word}(?:/${word})*$`);

/** What is no name of an image has no tag, and so not the latest one. */
function pullPolicyOf(image: string): string {
  const [tagged = "", digest] = image.split("@");
  const [end = "", tag = digest === undefined ? "latest" : ""] = /:([^:/]+)$/.exec(tagged) ?? [];
  const isLatest = tag === "latest" && imageName.test(tagged.slice(0, tagged.length - end.length));
  return isLatest ? "Always" : "IfNotPresent";
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
  const http = mutableMemberIfPresent(handler, "httpGet");
  if (http !== undefined) {
    setDefault(http, "path", "/");
    setDefault(http, "scheme", "HTTP");
  }
  const grpc = mutableMemberIfPresent(handler, "grpc");
  if (grpc !== undefined && grpc["service"] === undefined) grpc["service"] = "";
}

function setVolumeDefaults(volume: Draft): void {
  if (Object.keys(volume).every((member) => member === "name")) volume["emptyDir"] = {};
  for (const member of ["secret", "configMap", "downwardAPI", "projected"]) {
    const source = mutableMemberIfPresent(volume, member);
    if (source !== undefined) setDefault(source, "defaultMode", fileModeDefault);
  }
  setSourceDefaults(volume);
  const image = mutableMemberIfPresent(volume, "image");
  if (image !== undefined)
    setDefault(image, "pullPolicy", pullPolicyOf(String(image["reference"] ?? "")));
  const claim = mutableMemberIfPresent(volume, "ephemeral");
  const template = claim && mutableMemberIfPresent(claim, "volumeClaimTemplate");
  if (template !== undefined) setDefault(template, "metadata", {});
  const claimed = template && mutableMemberIfPresent(template, "spec");
  if (claimed !== undefined) claimed["volumeMode"] ??= "Filesystem";
  setDownwardDefaults(volume);
  const projected = mutableMemberIfPresent(volume, "projected");
  for (const source of projected === undefined ? [] : mutableItems(projected, "sources")) {
    setDownwardDefaults(source);
    const token = mutableMemberIfPresent(source, "serviceAccountToken");
    if (token !== undefined) setDefault(token, "expirationSeconds", 3600);
  }
}

const sourceDefaults: Readonly<Record<string, JsonObject>> = {
  hostPath: { type: "" },
  iscsi: { iscsiInterface: "default" },
  rbd: { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" },
  azureDisk: { cachingMode: "ReadWrite", kind: "Shared", fsType: "ext4", readOnly: false },
  scaleIO: { storageMode: "ThinProvisioned", fsType: "xfs" },
};

/** Defaults of sources that Pods and PersistentVolumes share. */
export function setSourceDefaults(holder: Draft): void {
  for (const [name, defaults] of Object.entries(sourceDefaults)) {
    const source = mutableMemberIfPresent(holder, name);
    for (const [member, value] of source === undefined ? [] : Object.entries(defaults))
      (source as Draft)[member] ??= value as JsonValue;
  }
}

function setDownwardDefaults(holder: Draft): void {
  const downward = mutableMemberIfPresent(holder, "downwardAPI");
  for (const item of downward === undefined ? [] : mutableItems(downward, "items"))
    setFieldDefaults(item);
}
