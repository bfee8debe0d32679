/** Validates a FlowSchema, with upstream's messages. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { mandatorySchemaErrors } from "./mandatory-objects.ts";

const precedenceMax = 10_000;
const methods = ["ByNamespace", "ByUser"];
const kinds = ["Group", "ServiceAccount", "User"];
const verbs = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "proxy",
  "update",
  "watch",
];

export function flowSchemaErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const name = textIn(objectIn(object, "metadata"), "name");
  const level = textIn(objectIn(spec, "priorityLevelConfiguration"), "name");
  const { distinguisherMethod: method } = spec;
  const errors = precedenceErrors(Number(spec["matchingPrecedence"] ?? 0), name);
  if (isJsonObject(method) && !methods.includes(textIn(method, "type")))
    errors.push(
      // Upstream shows the whole method, with the names of its members in Go.
      fieldError.notSupported(
        "spec.distinguisherMethod.type",
        { Type: textIn(method, "type") },
        methods,
      ),
    );
  const levelField = "spec.priorityLevelConfiguration.name";
  if (level === "") errors.push(fieldError.required(levelField, "must reference a priority level"));
  else
    errors.push(
      ...dnsSubdomainErrors(level).map((why) => fieldError.invalid(levelField, level, why)),
    );
  return [
    ...errors,
    ...itemErrors<JsonObject>(spec["rules"], "spec.rules", ruleErrors),
    ...mandatorySchemaErrors(name, spec),
  ];
}

function precedenceErrors(precedence: number, name: string): FieldError[] {
  const invalid = (why: string) => [fieldError.invalid("spec.matchingPrecedence", precedence, why)];
  if (precedence <= 0) return invalid("must be a positive value");
  if (precedence > precedenceMax) return invalid(`must not be greater than ${precedenceMax}`);
  if (precedence === 1 && name !== "exempt")
    return invalid("only the schema named 'exempt' may have matchingPrecedence 1");
  return [];
}

function ruleErrors(rule: JsonObject, at: string): FieldError[] {
  const errors: FieldError[] = [];
  const { subjects, resourceRules, nonResourceRules } = rule;
  if (listIn(subjects).length === 0)
    errors.push(fieldError.required(`${at}.subjects`, "subjects must contain at least one value"));
  errors.push(...itemErrors<JsonObject>(subjects, `${at}.subjects`, subjectErrors));
  if (listIn(resourceRules).length === 0 && listIn(nonResourceRules).length === 0)
    errors.push(
      fieldError.required(
        at,
        "at least one of resourceRules and nonResourceRules has to be non-empty",
      ),
    );
  errors.push(...itemErrors<JsonObject>(resourceRules, `${at}.resourceRules`, resourceErrors));
  errors.push(...itemErrors<JsonObject>(nonResourceRules, `${at}.nonResourceRules`, pathErrors));
  return errors;
}

const memberOfKind = { User: "user", Group: "group", ServiceAccount: "serviceAccount" } as const;

function subjectErrors(subject: JsonObject, at: string): FieldError[] {
  const kind = textIn(subject, "kind") as keyof typeof memberOfKind;
  if (!kinds.includes(kind)) return [fieldError.notSupported(`${at}.kind`, kind, kinds)];
  const member = memberOfKind[kind];
  const errors = Object.entries(memberOfKind)
    .filter(([, other]) => other !== member && subject[other] !== undefined)
    .map(([wanted, other]) =>
      fieldError.forbidden(
        `${at}.${other}`,
        `${other} is forbidden when subject kind is not '${wanted}'`,
      ),
    );
  const value = subject[member];
  if (!isJsonObject(value))
    return [
      fieldError.required(
        `${at}.${member}`,
        `${member} is required when subject kind is '${kind}'`,
      ),
      ...errors,
    ];
  return [...namedErrors(value, kind, `${at}.${member}`), ...errors];
}

function namedErrors(value: JsonObject, kind: string, at: string): FieldError[] {
  const name = textIn(value, "name");
  const isAccount = kind === "ServiceAccount";
  const errors: FieldError[] = [];
  if (name === "") errors.push(fieldError.required(`${at}.name`));
  else if (isAccount && name !== "*")
    errors.push(
      ...dnsSubdomainErrors(name).map((why) => fieldError.invalid(`${at}.name`, name, why)),
    );
  if (!isAccount) return errors;
  const namespace = textIn(value, "namespace");
  const field = `${at}.namespace`;
  if (namespace === "")
    errors.push(fieldError.required(field, "must specify namespace for service account"));
  else
    errors.push(
      ...dnsLabelErrors(namespace).map((why) => fieldError.invalid(field, namespace, why)),
    );
  return errors;
}

function verbErrors(rule: JsonObject, at: string): FieldError[] {
  const list = listIn(rule["verbs"]).map(String);
  const field = `${at}.verbs`;
  if (list.length === 0)
    return [fieldError.required(field, "verbs must contain at least one value")];
  if (!list.includes("*"))
    return list.every((verb) => verbs.includes(verb))
      ? []
      : [fieldError.notSupported(field, list as unknown as string, verbs)];
  return wildcardNotAloneError(list, field, "verbs");
}

function resourceErrors(rule: JsonObject, at: string): FieldError[] {
  const errors = verbErrors(rule, at);
  for (const [member, one, many] of [
    ["apiGroups", "api group", "api groups"],
    ["resources", "resource", "resources"],
  ] as const) {
    const list = listIn(rule[member]).map(String);
    if (list.length === 0)
      errors.push(
        fieldError.required(`${at}.${member}`, `resource rules must supply at least one ${one}`),
      );
    else errors.push(...wildcardNotAloneError(list, `${at}.${member}`, many));
  }
  const namespaces = listIn(rule["namespaces"]).map(String);
  const field = `${at}.namespaces`;
  if (namespaces.length === 0 && rule["clusterScope"] !== true)
    errors.push(
      fieldError.required(
        field,
        "resource rules that are not cluster scoped must supply at least one namespace",
      ),
    );
  else if (namespaces.includes("*"))
    errors.push(...wildcardNotAloneError(namespaces, field, "namespaces"));
  else errors.push(...itemErrors<string>(rule["namespaces"], field, namespaceErrors));
  return errors;
}

function namespaceErrors(name: string, at: string): FieldError[] {
  return dnsLabelErrors(name).map((why) =>
    fieldError.invalid(
      at,
      name,
      `each member of this list must be '*' or a DNS-1123 label; ${why}`,
    ),
  );
}

function pathErrors(rule: JsonObject, at: string): FieldError[] {
  const errors = verbErrors(rule, at);
  const list = listIn(rule["nonResourceURLs"]).map(String);
  const field = `${at}.nonResourceURLs`;
  if (list.length === 0)
    errors.push(fieldError.required(field, "nonResourceURLs must contain at least one value"));
  else if (list.includes("*"))
    errors.push(...wildcardNotAloneError(list, field, "non-resource URLs"));
  else
    errors.push(
      ...itemErrors<string>(list as JsonValue, field, (path, each) => {
        const why = pathProblem(path);
        return why === undefined ? [] : [fieldError.invalid(each, path, why)];
      }),
    );
  return errors;
}

function pathProblem(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (path === "/") return undefined;
  if (!path.startsWith("/")) return "must start with slash";
  if (path.includes(" ")) return "must not contain white-space";
  if (path.includes("//")) return "must not contain double slash";
  const star = path.indexOf("*");
  if (star < 0 || (star === path.length - 1 && path.endsWith("/*"))) return undefined;
  return "wildcard can only do suffix matching";
}

function wildcardNotAloneError(
  list: readonly string[],
  field: string,
  others: string,
): FieldError[] {
  if (list.length < 2 || !list.includes("*")) return [];
  const why = `if '*' is present, must not specify other ${others}`;
  return [fieldError.invalid(field, [...list], why)];
}
