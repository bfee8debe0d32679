/** Validation of Pods and Pod templates, in the words and the order of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { annotationErrors, labelErrors } from "@kcp-ts/machinery/meta";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { ipAddressErrors } from "../address-rules.ts";
import {
  labelNameErrorsAt,
  nameErrorsAt,
  oneOf,
  oneOfIfSet,
  required,
  requiredLabel,
} from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { affinityErrors, spreadErrors, tolerationErrors } from "./affinity-rules.ts";
import {
  type ContainerScope,
  containerErrors,
  probeErrorsOf,
  restartErrors,
} from "./container-rules.ts";
import { dnsErrors } from "./dns-rules.ts";
import { fileVolumeErrors } from "./environment-rules.ts";
import { podAnnotationErrors, profileMatchErrors } from "./pod-annotation-rules.ts";
import { tokenAccountErrors } from "./projected-rules.ts";
import { ClaimNames, podResourceErrors, resourceErrors } from "./resource-rules.ts";
import { podSecurityErrors } from "./security-rules.ts";
import { volumeErrors } from "./volume-rules.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const deadlineMax = 2 ** 31 - 1;

/** `claims` are the names of the claims of a StatefulSet: its Pods have them as volumes. */
export function templateErrors(
  template: JsonObject,
  field: string,
  claims: readonly string[] = [],
): FieldError[] {
  const metadata = objectIn(template, "metadata");
  const spec = objectIn(template, "spec");
  const annotations = objectIn(metadata, "annotations");
  return [
    ...labelErrors(objectIn(metadata, "labels") as Record<string, string>, `${field}.labels`),
    ...annotationErrors(annotations as Record<string, string>, `${field}.annotations`),
    ...podAnnotationErrors(annotations, spec, `${field}.annotations`),
    ...specErrors(withClaims(spec, claims), `${field}.spec`, false),
    ...profileMatchErrors(annotations, spec, `${field}.spec`),
    ...(listIn(spec["ephemeralContainers"]).length === 0
      ? []
      : [
          fieldError.forbidden(
            `${field}.spec.ephemeralContainers`,
            "ephemeral containers not allowed in pod template",
          ),
        ]),
  ];
}

function withClaims(spec: JsonObject, claims: readonly string[]): JsonObject {
  if (claims.length === 0) return spec;
  const names = new Set(claims);
  const others = (listIn(spec["volumes"]) as readonly JsonObject[]).filter(
    (volume) => !names.has(textIn(volume, "name")),
  );
  const claimed = claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return { ...spec, volumes: [...claimed, ...others] };
}

/** The rules of a Pod, some of which do not apply to templates. */
export function podSpecErrors(spec: JsonObject, field: string): FieldError[] {
  return [
    ...specErrors(spec, field, true),
    ...tokenAccountErrors(spec, field),
    ...["containers", "initContainers"].flatMap((member) =>
      itemErrors<JsonObject>(spec[member], `${field}.${member}`, (container, at) => {
        const image = textIn(container, "image");
        const detail = "must not have leading or trailing whitespace";
        return image.trim() === image ? [] : [fieldError.invalid(`${at}.image`, image, detail)];
      }),
    ),
  ];
}

function specErrors(spec: JsonObject, field: string, isPod: boolean): FieldError[] {
  const { volumes, errors } = volumeErrors(spec["volumes"], `${field}.volumes`, isPod);
  const claims = new ClaimNames();
  errors.push(
    ...itemErrors<JsonObject>(spec["resourceClaims"], `${field}.resourceClaims`, (claim, at) =>
      claimErrors(claim, at, claims),
    ),
  );
  const scope: ContainerScope = { spec, volumes, claims, names: new Set() };
  errors.push(
    ...allContainerErrors(spec, field, scope),
    ...podResourceErrors(spec, field),
    ...hostNetworkErrors(spec, field, isPod),
    ...oneOf(spec, "restartPolicy", restartPolicies, field),
    ...oneOf(spec, "dnsPolicy", dnsPolicies, field),
    ...labelErrors(
      objectIn(spec, "nodeSelector") as Record<string, string>,
      `${field}.nodeSelector`,
    ),
    ...podSecurityErrors(spec, field),
    ...affinityErrors(objectIn(spec, "affinity"), `${field}.affinity`),
    ...dnsErrors(spec, `${field}.dnsConfig`),
    ...itemErrors<JsonObject>(spec["readinessGates"], `${field}.readinessGates`, (gate, at) =>
      labelNameErrorsAt(textIn(gate, "conditionType"), `${at}.conditionType`),
    ),
    ...gateErrors(spec["schedulingGates"], `${field}.schedulingGates`),
    ...spreadErrors(spec["topologySpreadConstraints"], `${field}.topologySpreadConstraints`),
    ...hostProcessErrors(spec, field),
    ...hostErrors(spec, field),
    ...memberErrors(spec, field),
  );
  const all = allVolumes(spec);
  for (const member of ["initContainers", "containers"])
    errors.push(
      ...itemErrors<JsonObject>(spec[member], `${field}.${member}`, (container, at) =>
        fileVolumeErrors(container, at, all),
      ),
    );
  return errors;
}

function allVolumes(spec: JsonObject): ReadonlyMap<string, JsonObject> {
  const volumes = listIn(spec["volumes"]) as readonly JsonObject[];
  return new Map(volumes.map((volume) => [textIn(volume, "name"), volume]));
}

/** The members of a spec that have rules of their own. */
function memberErrors(spec: JsonObject, field: string): FieldError[] {
  const { overhead, runtimeClassName, schedulingGroup } = spec;
  return [
    ...nameMemberErrors(spec, field, "serviceAccountName"),
    ...nameMemberErrors(spec, field, "nodeName"),
    ...deadlineErrors(spec, field),
    ...nameMemberErrors(spec, field, "hostname", dnsLabelErrors),
    ...nameMemberErrors(spec, field, "subdomain", dnsLabelErrors),
    ...tolerationErrors(spec["tolerations"], `${field}.tolerations`),
    ...itemErrors<JsonObject>(spec["hostAliases"], `${field}.hostAliases`, (alias, at) => [
      ...ipAddressErrors(textIn(alias, "ip"), `${at}.ip`),
      ...itemErrors<string>(alias["hostnames"], `${at}.hostnames`, (name, place) =>
        nameErrorsAt(name, place, dnsSubdomainErrors),
      ),
    ]),
    ...nameMemberErrors(spec, field, "priorityClassName"),
    ...(runtimeClassName === undefined
      ? []
      : nameErrorsAt(String(runtimeClassName), `${field}.runtimeClassName`, dnsSubdomainErrors)),
    ...oneOfIfSet(spec, "preemptionPolicy", ["PreemptLowerPriority", "Never"], field),
    ...(isJsonObject(overhead) ? resourceErrors({ limits: overhead }, `${field}.overhead`) : []),
    ...systemErrors(spec, field),
    ...(isJsonObject(schedulingGroup)
      ? groupErrors(schedulingGroup, `${field}.schedulingGroup.podGroupName`)
      : []),
  ];
}

function groupErrors({ podGroupName }: JsonObject, at: string): FieldError[] {
  return podGroupName === undefined
    ? [fieldError.invalid(at, null, "must specify one of: `podGroupName`")]
    : nameErrorsAt(String(podGroupName), at, dnsSubdomainErrors);
}

function claimErrors(claim: JsonObject, at: string, names: ClaimNames): FieldError[] {
  const name = textIn(claim, "name");
  const errors = names.has(name)
    ? [fieldError.duplicate(`${at}.name`, name)]
    : requiredLabel(claim, "name", at);
  if (name !== "") names.add(name);
  const members = ["resourceClaimName", "resourceClaimTemplateName"];
  const given = members.filter((member) => claim[member] !== undefined);
  if (given.length !== 1) {
    const detail =
      given.length === 2
        ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        : "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
    errors.push(fieldError.invalid(at, claim, detail));
  }
  return [
    ...errors,
    ...given.flatMap((member) =>
      nameErrorsAt(textIn(claim, member), `${at}.${member}`, dnsSubdomainErrors),
    ),
  ];
}

function allContainerErrors(spec: JsonObject, field: string, scope: ContainerScope): FieldError[] {
  const { names } = scope;
  const repeated = (container: JsonObject, at: string, isInit: boolean): FieldError[] => {
    const name = textIn(container, "name");
    const isRepeated = names.has(name);
    if (name !== "" || !isInit) names.add(name);
    return isRepeated ? [fieldError.duplicate(`${at}.name`, name)] : [];
  };
  const isMain = (container: JsonObject) => textIn(container, "restartPolicy") === "Always";
  return [
    ...(listIn(spec["containers"]).length === 0
      ? [fieldError.required(`${field}.containers`)]
      : []),
    ...itemErrors<JsonObject>(spec["containers"], `${field}.containers`, (container, at) => [
      ...containerErrors(container, at, scope),
      ...repeated(container, at, false),
      ...probeErrorsOf(container, at, spec),
      ...restartErrors(container, at),
    ]),
    ...hostPortErrors(spec["containers"], `${field}.containers`),
    ...itemErrors<JsonObject>(
      spec["initContainers"],
      `${field}.initContainers`,
      (container, at) => [
        ...containerErrors(container, at, scope),
        ...restartErrors(container, at),
        ...repeated(container, at, true),
        ...(isMain(container)
          ? probeErrorsOf(container, at, spec)
          : [...noProbeErrors(container, at), ...noResizeErrors(container, at)]),
      ],
    ),
  ];
}

function noProbeErrors(container: JsonObject, at: string): FieldError[] {
  return ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]
    .filter((member) => container[member] !== undefined)
    .map((member) =>
      fieldError.forbidden(
        `${at}.${member}`,
        "may not be set for init containers without restartPolicy=Always",
      ),
    );
}

function noResizeErrors(container: JsonObject, at: string): FieldError[] {
  return itemErrors<JsonObject>(container["resizePolicy"], `${at}.resizePolicy`, (one, field) => {
    const { restartPolicy } = one;
    const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    return restartPolicy === "RestartContainer"
      ? [fieldError.invalid(`${field}.restartPolicy`, restartPolicy, detail)]
      : [];
  });
}

/** A template may omit the port of the host: its Pods get it. */
function hostNetworkErrors(spec: JsonObject, field: string, isPod: boolean): FieldError[] {
  if (spec["hostNetwork"] !== true) return [];
  return itemErrors<JsonObject>(spec["containers"], `${field}.containers`, (container, at) =>
    itemErrors<JsonObject>(container["ports"], `${at}.ports`, (port, place) => {
      const [host, own] = [Number(port["hostPort"] ?? 0), Number(port["containerPort"] ?? 0)];
      const detail = "must match `containerPort` when `hostNetwork` is true";
      return host === own || (host === 0 && !isPod)
        ? []
        : [fieldError.invalid(`${place}.hostPort`, host, detail)];
    }),
  );
}

/** Two containers of a Pod cannot listen on the same port of the node. */
function hostPortErrors(containers: JsonValue | undefined, field: string): FieldError[] {
  const taken = new Set<string>();
  return itemErrors<JsonObject>(containers, field, (container, at) =>
    itemErrors<JsonObject>(container["ports"], `${at}.ports`, (port, atPort) => {
      const number = Number(port["hostPort"] ?? 0);
      if (number === 0) return [];
      const text = `${textIn(port, "protocol")}/${textIn(port, "hostIP")}/${number}`;
      if (taken.has(text)) return [fieldError.duplicate(`${atPort}.hostPort`, text)];
      taken.add(text);
      return [];
    }),
  );
}

function gateErrors(gates: JsonValue | undefined, field: string): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<JsonObject>(gates, field, (gate, at) => {
    const name = textIn(gate, "name");
    const errors = labelNameErrorsAt(name, at);
    if (seen.has(name)) errors.push(fieldError.duplicate(at, name));
    seen.add(name);
    return errors;
  });
}

/** Containers that are processes of a Windows node: all of a Pod or none, on the node's network. */
function hostProcessErrors(spec: JsonObject, field: string): FieldError[] {
  const valueIn = (holder: JsonObject) =>
    objectIn(objectIn(holder, "securityContext"), "windowsOptions")["hostProcess"];
  const ofPod = valueIn(spec);
  const errors: FieldError[] = [];
  const values = ["initContainers", "containers"].flatMap((member) =>
    listIn(spec[member]).map((container, index) => {
      const own = valueIn(container as JsonObject);
      const at = `${field}.${member}[${index}].securityContext.windowsOptions.hostProcess`;
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      if (own !== undefined && ofPod !== undefined && own !== ofPod)
        errors.push(fieldError.invalid(at, own, detail));
      return own ?? ofPod;
    }),
  );
  if (!values.includes(true)) return errors;
  const all =
    "If pod contains any hostProcess containers then all containers must be HostProcess containers";
  if (values.some((value) => value !== true)) errors.push(fieldError.invalid(field, "", all));
  const network = "hostNetwork must be true if pod contains any hostProcess containers";
  if (spec["hostNetwork"] !== true)
    errors.push(fieldError.invalid(`${field}.hostNetwork`, false, network));
  return errors;
}

const hostnameBytesMax = 64;

/** Users and names that a Pod shares with its node, or has for itself. */
function hostErrors(spec: JsonObject, field: string): FieldError[] {
  const errors = ["hostPID", "hostIPC"]
    .filter((member) => spec["hostUsers"] === false && spec[member] === true)
    .map((member) =>
      fieldError.forbidden(`${field}.${member.replace("h", "H")}`, "when `hostUsers` is false"),
    );
  const isApart = spec["hostUsers"] === false;
  if (isApart && spec["hostNetwork"] === true)
    errors.unshift(fieldError.forbidden(`${field}.hostNetwork`, "when `hostUsers` is false"));
  for (const member of isApart ? ["initContainers", "containers"] : [])
    for (const [index, container] of listIn(spec[member]).entries())
      if (isJsonObject(container) && listIn(container["volumeDevices"]).length > 0)
        errors.push(
          fieldError.forbidden(
            `${field}.${member}[${index}].volumeDevices`,
            "when `hostUsers` is false",
          ),
        );
  const { hostnameOverride } = spec;
  if (hostnameOverride === undefined) return errors;
  const at = `${field}.hostnameOverride`;
  for (const member of ["setHostnameAsFQDN", "hostNetwork"])
    if (spec[member] === true)
      errors.push(fieldError.forbidden(at, `may not be specified when ${member} is true`));
  if (String(hostnameOverride).length > hostnameBytesMax)
    errors.push(fieldError.tooLong(at, hostnameBytesMax));
  return [...errors, ...nameErrorsAt(String(hostnameOverride), at, dnsSubdomainErrors)];
}

/** What the system of the nodes does not have. */
function systemErrors(spec: JsonObject, field: string): FieldError[] {
  const { os } = spec;
  if (!isJsonObject(os)) return [];
  const name = textIn(os, "name");
  if (name === "") return required(os, "name", `${field}.os`);
  if (name !== "linux" && name !== "windows")
    return [fieldError.notSupported(`${field}.os`, name, ["linux", "windows"])];
  if (name === "windows") return [];
  const holders = [
    [spec, field] as const,
    ...["initContainers", "containers"].flatMap((member) =>
      (listIn(spec[member]) as readonly JsonObject[]).map(
        (container, index) => [container, `${field}.${member}[${index}]`] as const,
      ),
    ),
  ];
  return holders
    .filter(([holder]) => objectIn(holder, "securityContext")["windowsOptions"] !== undefined)
    .map(([, at]) =>
      fieldError.forbidden(
        `${at}.securityContext.windowsOptions`,
        "windows options cannot be set for a linux pod",
      ),
    );
}

function nameMemberErrors(
  spec: JsonObject,
  field: string,
  member: string,
  check = dnsSubdomainErrors,
): FieldError[] {
  const name = textIn(spec, member);
  return name === "" ? [] : nameErrorsAt(name, `${field}.${member}`, check);
}

function deadlineErrors(spec: JsonObject, field: string): FieldError[] {
  const seconds = spec["activeDeadlineSeconds"];
  if (seconds === undefined || (Number(seconds) >= 1 && Number(seconds) <= deadlineMax)) return [];
  const at = `${field}.activeDeadlineSeconds`;
  return [fieldError.invalid(at, seconds, `must be between 1 and ${deadlineMax}, inclusive`)];
}

/** Containers that `kubectl debug` adds to a running Pod; those that exist stay as they are. */
export function ephemeralContainerErrors(spec: JsonObject, field: string): FieldError[] {
  return itemErrors<JsonObject>(spec["ephemeralContainers"], field, (container, at) => [
    ...requiredLabel(container, "name", at),
    ...required(container, "image", at),
  ]);
}
