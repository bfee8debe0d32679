/** The rules of NetworkPolicies and ServiceCIDRs, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { blockErrors, familyOf, isStrictPart, parseBlock } from "../address-rules.ts";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import { portNameErrors, portNumberErrors } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const protocols = ["TCP", "UDP", "SCTP"];
const directions = ["Ingress", "Egress"];
const blocksMax = 2;

export function networkPolicyErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const errors = labelSelectorErrors(spec["podSelector"], "spec.podSelector");
  for (const [direction, peers] of [
    ["ingress", "from"],
    ["egress", "to"],
  ] as const)
    errors.push(
      ...itemErrors<JsonObject>(spec[direction], `spec.${direction}`, (rule, at) => [
        ...itemErrors(rule["ports"], `${at}.ports`, policyPortErrors),
        ...itemErrors(rule[peers], `${at}.${peers}`, peerErrors),
      ]),
    );
  const types = listIn(spec["policyTypes"]);
  const field = "spec.policyTypes";
  if (types.length > directions.length)
    return [
      ...errors,
      fieldError.invalid(field, types as JsonValue, "may not specify more than two policyTypes"),
    ];
  return [
    ...errors,
    ...itemErrors<string>(spec["policyTypes"], field, (type, at) =>
      directions.includes(type) ? [] : [fieldError.notSupported(at, type, directions)],
    ),
  ];
}

function policyPortErrors(rule: JsonObject, field: string): FieldError[] {
  const { port, endPort } = rule;
  const protocol = textIn(rule, "protocol");
  const errors = protocols.includes(protocol)
    ? []
    : [fieldError.notSupported(`${field}.protocol`, protocol, protocols)];
  const endError = (detail: string, value: JsonValue = endPort ?? null) =>
    errors.push(fieldError.invalid(`${field}.endPort`, value, detail));
  if (typeof port === "number") {
    errors.push(...portNumberErrors(port, `${field}.port`));
    if (endPort === undefined) return errors;
    if (Number(endPort) < port) endError("must be greater than or equal to `port`", port);
    return [...errors, ...portNumberErrors(endPort, `${field}.endPort`)];
  }
  if (endPort !== undefined)
    endError(
      port === undefined
        ? "may not be specified when `port` is not specified"
        : "may not be specified when `port` is non-numeric",
    );
  if (port !== undefined)
    for (const text of portNameErrors(String(port)))
      errors.push(fieldError.invalid(`${field}.port`, port, text));
  return errors;
}

function peerErrors(peer: JsonObject, field: string): FieldError[] {
  const { ipBlock } = peer;
  const given = ["podSelector", "namespaceSelector", "ipBlock"].filter((one) =>
    isJsonObject(peer[one]),
  );
  const errors = ["podSelector", "namespaceSelector"].flatMap((one) =>
    labelSelectorErrors(peer[one], `${field}.${one}`),
  );
  if (isJsonObject(ipBlock)) errors.push(...ipBlockErrors(ipBlock, `${field}.ipBlock`));
  if (given.length === 0) errors.push(fieldError.required(field, "must specify a peer"));
  else if (given.length > 1 && isJsonObject(ipBlock))
    errors.push(fieldError.forbidden(field, "may not specify both ipBlock and another peer"));
  return errors;
}

function ipBlockErrors(block: JsonObject, field: string): FieldError[] {
  const cidr = textIn(block, "cidr");
  if (cidr === "") return [fieldError.required(`${field}.cidr`)];
  const whole = parseBlock(cidr);
  const malformed = blockErrors(cidr, `${field}.cidr`);
  if (whole === undefined || malformed.length > 0) return malformed;
  return itemErrors<string>(block["except"], `${field}.except`, (text, at) => {
    const part = parseBlock(text);
    const bad = blockErrors(text, at);
    if (part === undefined || bad.length > 0) return bad;
    const detail = "must be a strict subset of `cidr`";
    return isStrictPart(part, whole) ? [] : [fieldError.invalid(at, text, detail)];
  });
}

export function serviceBlockErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const field = "spec.cidrs";
  const blocks = listIn(spec["cidrs"]).map(String);
  if (blocks.length === 0) return [fieldError.required(field, "at least one CIDR required")];
  if (blocks.length > blocksMax)
    return [fieldError.invalid(field, spec, `may only hold up to ${blocksMax} values`)];
  const errors = blocks.flatMap((text, i) => blockErrors(text, `${field}[${i}]`));
  const parsed = blocks.flatMap((text) => parseBlock(text) ?? []);
  if (errors.length === 0 && new Set(parsed.map(familyOf)).size < blocks.length)
    errors.push(
      fieldError.invalid(
        field,
        blocks,
        "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
      ),
    );
  return errors;
}

/** A second block may be added; those there are stay. */
export function serviceBlockUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const now = listIn(objectIn(updated, "spec")["cidrs"]);
  return listIn(objectIn(old, "spec")["cidrs"]).flatMap((block, i) =>
    now[i] === block
      ? []
      : [fieldError.invalid(`spec.cidrs[${i}]`, now[i] ?? "", "field is immutable")],
  );
}
