/**
 * The violations of the Pod Security Standards by a Pod, in the words of Kubernetes' own admission
 * (k8s.io/pod-security-admission/policy). Of baseline, all rules against container escapes; of
 * restricted, the fields that containers must set.
 */
import { type JsonObject, listOf, objectOf, objectsOf } from "@kcp-ts/machinery/json";

export type Level = "privileged" | "baseline" | "restricted";

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

type Check = (pod: PodParts) => Violation | undefined;

interface PodParts {
  readonly spec: JsonObject;
  /** The securityContext of the Pod; empty if there is none. */
  readonly context: JsonObject;
  readonly containers: readonly Container[];
}

interface Container {
  readonly name: string;
  readonly container: JsonObject;
  readonly context: JsonObject;
}

export function violationsOf(spec: JsonObject, level: Level): readonly Violation[] {
  if (level === "privileged") return [];
  const lists = ["initContainers", "containers", "ephemeralContainers"];
  const containers = lists
    .flatMap((list) => objectsOf(spec[list]))
    .map((container) => ({
      name: String(container["name"]),
      container,
      context: objectOf(container["securityContext"]),
    }));
  const parts = { spec, context: objectOf(spec["securityContext"]), containers };
  const checks = level === "baseline" ? baseline : [...baseline, ...restricted];
  return checks.map((check) => check(parts)).filter((one) => one !== undefined);
}

/** `violates PodSecurity "baseline:latest": host namespaces (hostPID=true)`. */
export function violationText(violations: readonly Violation[], level: Level): string {
  const all = violations.map(({ reason, detail }) => `${reason} (${detail})`).join(", ");
  return `violates PodSecurity "${level}:latest": ${all}`;
}

const defaultCapabilities = new Set([
  ...["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"],
  ...["NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"],
]);

const safeSysctls = new Set([
  ...["kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"],
  ...["net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"],
  ...["net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time"],
  ...["net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"],
  ...["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"],
]);

const baseline: readonly Check[] = [
  ({ spec }) => {
    const set = ["hostNetwork", "hostPID", "hostIPC"].filter((field) => spec[field] === true);
    return found("host namespaces", set.map((field) => `${field}=true`).join(", "));
  },
  ({ spec }) => {
    const names = objectsOf(spec["volumes"])
      .filter((volume) => volume["hostPath"] !== undefined)
      .map((volume) => String(volume["name"]));
    return found("hostPath volumes", names.length === 0 ? "" : counted("volume", names));
  },
  each("hostPort", ({ container }) => {
    const ports = objectsOf(container["ports"]).map((port) => port["hostPort"]);
    const used = ports.filter((port) => typeof port === "number" && port !== 0);
    return used.length === 0 ? undefined : `uses hostPort ${used.join(", ")}`;
  }),
  each("privileged", ({ context }) =>
    context["privileged"] === true ? "must not set securityContext.privileged=true" : undefined,
  ),
  each("non-default capabilities", ({ context }) => {
    const added = textsIn(objectOf(context["capabilities"]), "add");
    const wrong = added.filter((one) => !defaultCapabilities.has(one));
    return wrong.length === 0
      ? undefined
      : `must not include ${quoted(wrong)} in securityContext.capabilities.add`;
  }),
  each("procMount", ({ context }) => {
    const value = context["procMount"];
    return value === undefined || value === "Default"
      ? undefined
      : `must not set securityContext.procMount to "${String(value)}"`;
  }),
  (pod) => {
    const text = 'must not set securityContext.seccompProfile.type to "Unconfined"';
    const isSet = (context: JsonObject) =>
      objectOf(context["seccompProfile"])["type"] === "Unconfined";
    if (isSet(pod.context)) return { reason: "seccompProfile", detail: `pod ${text}` };
    return each("seccompProfile", ({ context }) => (isSet(context) ? text : undefined))(pod);
  },
  (pod) => {
    const isSet = (context: JsonObject) =>
      objectOf(context["windowsOptions"])["hostProcess"] === true;
    const text = "must not set securityContext.windowsOptions.hostProcess=true";
    if (isSet(pod.context)) return { reason: "hostProcess", detail: `pod ${text}` };
    return each("hostProcess", ({ context }) => (isSet(context) ? text : undefined))(pod);
  },
  ({ context }) => {
    const names = objectsOf(context["sysctls"]).map((one) => String(one["name"]));
    return found("forbidden sysctls", names.filter((name) => !safeSysctls.has(name)).join(", "));
  },
];

const restricted: readonly Check[] = [
  each("allowPrivilegeEscalation != false", ({ context }) =>
    context["allowPrivilegeEscalation"] === false
      ? undefined
      : "must set securityContext.allowPrivilegeEscalation=false",
  ),
  each("unrestricted capabilities", ({ context }) =>
    textsIn(objectOf(context["capabilities"]), "drop").includes("ALL")
      ? undefined
      : 'must set securityContext.capabilities.drop=["ALL"]',
  ),
  (pod) =>
    each("runAsNonRoot != true", ({ context }) =>
      (context["runAsNonRoot"] ?? pod.context["runAsNonRoot"]) === true
        ? undefined
        : "must set securityContext.runAsNonRoot=true",
    )(pod),
  (pod) =>
    each("seccompProfile", ({ context }) => {
      const profile = {
        ...objectOf(pod.context["seccompProfile"]),
        ...objectOf(context["seccompProfile"]),
      };
      return ["RuntimeDefault", "Localhost"].includes(String(profile["type"]))
        ? undefined
        : 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
    })(pod),
];

function found(reason: string, detail: string): Violation | undefined {
  return detail === "" ? undefined : { reason, detail };
}

/** Containers with the same violation are listed together. */
function each(reason: string, wrongOf: (container: Container) => string | undefined): Check {
  return ({ containers }) => {
    const names = new Map<string, string[]>();
    for (const container of containers) {
      const wrong = wrongOf(container);
      if (wrong !== undefined) names.set(wrong, [...(names.get(wrong) ?? []), container.name]);
    }
    const texts = [...names].map(([wrong, those]) => `${counted("container", those)} ${wrong}`);
    return found(reason, texts.join("; "));
  };
}

function counted(noun: string, names: readonly string[]): string {
  return `${noun}${names.length === 1 ? "" : "s"} ${quoted(names)}`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}

function textsIn(object: JsonObject, name: string): readonly string[] {
  return listOf(object[name]).filter((one) => typeof one === "string");
}
