/** Rules of the security contexts of Pods and containers, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { nameErrorsAt } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { relativePathErrors } from "./path-rules.ts";

const idMax = 2 ** 31 - 1;

function idErrors(holder: JsonObject, member: string, at: string): FieldError[] {
  const id = holder[member];
  return id === undefined ? [] : idErrorsAt(id, `${at}.${member}`);
}

function idErrorsAt(id: JsonValue, at: string): FieldError[] {
  const isValid = Number(id) >= 0 && Number(id) <= idMax;
  return isValid ? [] : [fieldError.invalid(at, id, `must be between 0 and ${idMax}, inclusive`)];
}

/** A member of a fixed set of values, which may be absent but not empty. */
function supported(
  holder: JsonObject,
  member: string,
  values: readonly string[],
  at: string,
): FieldError[] {
  const value = holder[member];
  if (value === undefined || values.includes(String(value))) return [];
  return [fieldError.notSupported(`${at}.${member}`, value, values)];
}

const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];

function profileTypeErrors(type: string, at: string, member: string): FieldError[] {
  if (type === "") return [fieldError.required(at, `type is required when ${member} is set`)];
  return profileTypes.includes(type) ? [] : [fieldError.notSupported(at, type, profileTypes)];
}

function seccompErrors(context: JsonObject, field: string): FieldError[] {
  const at = `${field}.seccompProfile`;
  const profile = context["seccompProfile"];
  if (!isJsonObject(profile)) return [];
  const { localhostProfile } = profile;
  const place = `${at}.localhostProfile`;
  const errors = profileTypeErrors(textIn(profile, "type"), `${at}.type`, "seccompProfile");
  if (profile["type"] !== "Localhost")
    return localhostProfile === undefined
      ? errors
      : [
          ...errors,
          fieldError.invalid(place, profile, "can only be set when seccomp type is Localhost"),
        ];
  return localhostProfile === undefined
    ? [...errors, fieldError.required(place, "must be set when seccomp type is Localhost")]
    : [...errors, ...relativePathErrors(String(localhostProfile), place)];
}

const profileBytesMax = 4095;

function appArmorErrors(context: JsonObject, field: string): FieldError[] {
  const at = `${field}.appArmorProfile`;
  const profile = context["appArmorProfile"];
  if (!isJsonObject(profile)) return [];
  const type = textIn(profile, "type");
  const { localhostProfile } = profile;
  const place = `${at}.localhostProfile`;
  const needed = "must be set when AppArmor type is Localhost";
  if (type !== "Localhost") {
    const isBad = localhostProfile !== undefined && profileTypes.includes(type);
    return isBad
      ? [
          fieldError.invalid(
            place,
            localhostProfile,
            "can only be set when AppArmor type is Localhost",
          ),
        ]
      : profileTypeErrors(type, `${at}.type`, "appArmorProfile");
  }
  if (localhostProfile === undefined) return [fieldError.required(place, needed)];
  const name = String(localhostProfile);
  const errors: FieldError[] = [];
  if (name.trim() !== name)
    errors.push(fieldError.invalid(place, name, "must not be padded with whitespace"));
  else if (name === "") errors.push(fieldError.required(place, needed));
  if (name.length > profileBytesMax) errors.push(fieldError.tooLong(place, profileBytesMax));
  return errors;
}

const specificationBytesMax = 64 * 1024;
const domainLengthMax = 256;
const userLengthMax = 104;
const netBiosName = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const windowsDomain =
  /^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?\.)+[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$/;

function windowsUserProblems(name: string): readonly string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  if (/[\u0000-\u001f\u007f]+/.test(name))
    return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const user = parts.at(-1) ?? "";
  const domain = parts.length === 2 ? (parts[0] ?? "") : undefined;
  const problems: string[] = [];
  if (domain !== undefined && domain.length >= domainLengthMax)
    problems.push(`runAsUserName's Domain length must be under ${domainLengthMax} characters`);
  if (domain !== undefined && !netBiosName.test(domain) && !windowsDomain.test(domain))
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  if (user === "") problems.push("runAsUserName's User cannot be empty");
  else if (user.length > userLengthMax)
    problems.push(
      `runAsUserName's User length must not be longer than ${userLengthMax} characters`,
    );
  if (/^[. ]+$/.test(user))
    problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\[\]:;|=,+*?<>@]/.test(user))
    problems.push(
      "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
    );
  return problems;
}

function windowsErrors(context: JsonObject, field: string): FieldError[] {
  const at = `${field}.windowsOptions`;
  const options = objectIn(context, "windowsOptions");
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options;
  const errors =
    gmsaCredentialSpecName === undefined
      ? []
      : nameErrorsAt(
          String(gmsaCredentialSpecName),
          `${at}.gmsaCredentialSpecName`,
          dnsSubdomainErrors,
        );
  const invalid = (member: string, value: JsonValue, detail: string) =>
    errors.push(fieldError.invalid(`${at}.${member}`, value, detail));
  if (gmsaCredentialSpec === "")
    invalid("gmsaCredentialSpec", "", "gmsaCredentialSpec cannot be an empty string");
  else if (String(gmsaCredentialSpec ?? "").length > specificationBytesMax)
    invalid(
      "gmsaCredentialSpec",
      gmsaCredentialSpec as JsonValue,
      "gmsaCredentialSpec size must be under 64 KiB",
    );
  if (runAsUserName !== undefined)
    for (const problem of windowsUserProblems(String(runAsUserName)))
      invalid("runAsUserName", runAsUserName, problem);
  return errors;
}

const sysctlName = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const sysctlPattern = new RegExp(sysctlName);
const sysctlLengthMax = 253;

function sysctlErrors(spec: JsonObject, context: JsonObject, field: string): FieldError[] {
  const names = new Set<string>();
  return itemErrors<JsonObject>(context["sysctls"], `${field}.sysctls`, (sysctl, at) => {
    const name = textIn(sysctl, "name");
    const place = `${at}.name`;
    const errors: FieldError[] = [];
    if (name === "") errors.push(fieldError.required(place));
    else if (name.length > sysctlLengthMax || !sysctlPattern.test(name)) {
      const detail = `must have at most ${sysctlLengthMax} characters and match regex ${sysctlName}`;
      errors.push(fieldError.invalid(place, name, detail));
    } else if (names.has(name)) errors.push(fieldError.duplicate(place, name));
    names.add(name);
    const path = name.replaceAll("/", ".");
    const isOfIpc = /^(kernel\.(sem$|shm|msg)|fs\.mqueue\.)/.test(path);
    const shared =
      path.startsWith("net.") && spec["hostNetwork"] === true
        ? "hostNetwork"
        : isOfIpc && spec["hostIPC"] === true
          ? "hostIPC"
          : undefined;
    if (shared !== undefined)
      errors.push(fieldError.invalid(place, name, `may not be specified when '${shared}' is true`));
    return errors;
  });
}

export function podSecurityErrors(spec: JsonObject, field: string): FieldError[] {
  const context = objectIn(spec, "securityContext");
  const at = `${field}.securityContext`;
  const errors = ["fsGroup", "runAsUser", "runAsGroup"].flatMap((member) =>
    idErrors(context, member, at),
  );
  errors.push(
    ...itemErrors<JsonValue>(context["supplementalGroups"], `${at}.supplementalGroups`, idErrorsAt),
  );
  if (spec["shareProcessNamespace"] === true && spec["hostPID"] === true)
    errors.push(
      fieldError.invalid(
        `${at}.shareProcessNamespace`,
        true,
        "ShareProcessNamespace and HostPID cannot both be enabled",
      ),
    );
  return [
    ...errors,
    ...sysctlErrors(spec, context, at),
    ...supported(context, "fsGroupChangePolicy", ["Always", "OnRootMismatch"], at),
    ...seccompErrors(context, at),
    ...windowsErrors(context, at),
    ...appArmorErrors(context, at),
    ...supported(context, "supplementalGroupsPolicy", ["Merge", "Strict"], at),
    ...supported(context, "seLinuxChangePolicy", ["Recursive"], at),
  ];
}

export function containerSecurityErrors(
  context: JsonObject,
  at: string,
  hasHostUsers: boolean,
): FieldError[] {
  const errors = ["runAsUser", "runAsGroup"].flatMap((member) => idErrors(context, member, at));
  errors.push(...supported(context, "procMount", ["Default", "Unmasked"], at));
  if (hasHostUsers && context["procMount"] === "Unmasked")
    errors.push(
      fieldError.invalid(
        `${at}.procMount`,
        "Unmasked",
        "`hostUsers` must be false to use `Unmasked`",
      ),
    );
  errors.push(...seccompErrors(context, at));
  const added = listIn(objectIn(context, "capabilities")["add"]);
  if (context["allowPrivilegeEscalation"] === false)
    for (const [isGiven, what] of [
      [context["privileged"] === true, "`privileged` to true"],
      [added.includes("CAP_SYS_ADMIN"), "`capabilities.Add` CAP_SYS_ADMIN"],
    ] as const)
      if (isGiven)
        errors.push(
          fieldError.invalid(
            at,
            context,
            `cannot set \`allowPrivilegeEscalation\` to false and ${what}`,
          ),
        );
  return [...errors, ...windowsErrors(context, at), ...appArmorErrors(context, at)];
}
