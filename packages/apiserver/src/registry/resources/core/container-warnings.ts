/** Warnings about containers: amounts, variables that hide others, and ports that meet. */
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import { listIn, objectIn, textIn } from "../standard.ts";
import { fractionWarnings } from "./amount-warnings.ts";

/** A container, and its path. */
export interface PlacedContainer {
  readonly container: JsonObject;
  readonly at: string;
}

/** In Kubernetes' order. */
export function containersOf(spec: JsonObject, at: string): PlacedContainer[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((member) =>
    listIn(spec[member]).flatMap((container, index) =>
      isJsonObject(container) ? [{ container, at: `${at}.${member}[${index}]` }] : [],
    ),
  );
}

export function containerWarnings(containers: readonly PlacedContainer[]): string[] {
  return [
    ...containers.flatMap(({ container, at }) => [
      ...amountWarnings(objectIn(container, "resources"), `${at}.resources`),
      ...variableWarnings(container, at),
    ]),
    ...portWarnings(containers),
  ];
}

function amountWarnings(resources: JsonObject, at: string): string[] {
  return ["memory", "ephemeral-storage"].flatMap((name) =>
    ["limits", "requests"].flatMap((member) =>
      fractionWarnings(resources[member], [name], `${at}.${member}`),
    ),
  );
}

/** A later variable of the same name may only add to the first one. */
function variableWarnings({ env }: JsonObject, at: string): string[] {
  const variables = listIn(env);
  if (variables.length < 2) return [];
  const names = new Set<string>();
  return variables.flatMap((variable, index) => {
    if (!isJsonObject(variable)) return [];
    const name = textIn(variable, "name");
    const isRepeated = names.has(name);
    names.add(name);
    if (!isRepeated) return [];
    const [value, reference] = [textIn(variable, "value"), `$(${name})`];
    const hides =
      variable["valueFrom"] !== undefined || value === reference || !value.includes(reference);
    const text = `hides previous definition of ${quote(name)}, which may be dropped when using apply`;
    return hides ? [`${at}.env[${index}]: ${text}`] : [];
  });
}

interface PlacedPort {
  readonly at: string;
  readonly hostIp: string;
  readonly hostPort: number;
}

/** Ports that are compared with each other: there are squares of them. */
const comparedPortsMax = 100;

function portWarnings(containers: readonly PlacedContainer[]): string[] {
  const ports = containers
    .flatMap(({ container, at }) =>
      listIn(container["ports"]).flatMap((port, index) =>
        isJsonObject(port) ? [{ port, at: `${at}.ports[${index}]` }] : [],
      ),
    )
    .slice(0, comparedPortsMax);
  const byNumber = new Map<string, PlacedPort[]>();
  const warnings = ports.flatMap(({ port, at }) => {
    const one = { at, hostIp: textIn(port, "hostIP"), hostPort: Number(port["hostPort"] ?? 0) };
    const key = `${port["containerPort"] ?? 0}/${textIn(port, "protocol")}`;
    const others = byNumber.get(key) ?? [];
    byNumber.set(key, [...others, one]);
    return [
      ...(one.hostIp !== "" && one.hostPort === 0
        ? [`${at}: hostIP set without hostPort: ${goPort(port)}`]
        : []),
      ...others.flatMap((other) => meetingWarnings(one, other)),
    ];
  });
  return [...warnings, ...nameWarnings(ports)];
}

function meetingWarnings(one: PlacedPort, other: PlacedPort): string[] {
  const how = meetingOf(one, other);
  return how === undefined ? [] : [`${one.at}: ${how} port definition with ${other.at}`];
}

function meetingOf(one: PlacedPort, other: PlacedPort): string | undefined {
  if (one.hostIp === other.hostIp && one.hostPort === other.hostPort) return "duplicate";
  if (one.hostPort === 0 || other.hostPort === 0) return "overlapping";
  const isOneOpen = (one.hostIp === "") !== (other.hostIp === "");
  return one.hostPort === other.hostPort && isOneOpen ? "dangerously ambiguous" : undefined;
}

function nameWarnings(ports: readonly { port: JsonObject; at: string }[]): string[] {
  const places = new Map<string, string>();
  return ports.flatMap(({ port, at }) => {
    const name = textIn(port, "name");
    if (name === "") return [];
    const other = places.get(name);
    if (other === undefined) {
      places.set(name, at);
      return [];
    }
    return [
      `${at}: duplicate port name ${quote(name)} with ${other}, services and probes that select ports by name will use ${other}`,
    ];
  });
}

/** As Go prints it. */
function goPort(port: JsonObject): string {
  const { hostPort = 0, containerPort = 0 } = port;
  const [name, protocol, hostIp] = ["name", "protocol", "hostIP"].map((one) => textIn(port, one));
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIp}}`;
}

export const seccompPrefix = "container.seccomp.security.alpha.kubernetes.io/";
export const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

/** Profiles that annotations named before there were fields for them. */
export function profileWarnings(
  { container }: PlacedContainer,
  { annotations, securityContext }: { annotations: JsonObject; securityContext: JsonObject },
  prefix: string,
): string[] {
  const name = textIn(container, "name");
  const { seccompProfile, appArmorProfile } = objectIn(container, "securityContext");
  const seccomp = `${seccompPrefix}${name}`;
  const appArmor = `${appArmorPrefix}${name}`;
  const at = (key: string) => `${prefix}metadata.annotations[${key}]`;
  const warnings: string[] = [];
  if (seccompProfile === undefined && annotations[seccomp] !== undefined)
    warnings.push(
      `${at(seccomp)}: non-functional in v1.27+; use the "seccompProfile" field instead`,
    );
  const annotated = annotations[appArmor];
  // The field of a Pod was set from the annotation before.
  const isUnset = prefix === "" ? true : appArmorProfile === undefined;
  if (annotated === undefined || !isUnset) return warnings;
  if (prefix === "" && appArmorOf(String(annotated)) === null) return warnings;
  const ofPod = securityContext["appArmorProfile"];
  if (ofPod === undefined || !jsonEqual(ofPod, appArmorOf(String(annotated))))
    warnings.push(
      `${at(appArmor)}: deprecated since v1.30; use the "appArmorProfile" field instead`,
    );
  return warnings;
}

/** The field that an annotation stands for. */
export function appArmorOf(annotation: string): JsonObject | null {
  if (annotation === "unconfined") return { type: "Unconfined" };
  if (annotation === "runtime/default") return { type: "RuntimeDefault" };
  const prefix = "localhost/";
  return annotation.startsWith(prefix) && annotation.length > prefix.length
    ? { type: "Localhost", localhostProfile: annotation.slice(prefix.length) }
    : null;
}
