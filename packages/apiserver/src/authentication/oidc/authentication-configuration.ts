/**
 * The file of `--authentication-config`: AuthenticationConfiguration of apiserver.config.k8s.io, v1
 * and v1beta1.
 *
 * An unknown field is rejected and not ignored: it may be a misspelled rule, without which every
 * user would be accepted.
 */
import { type FieldError, fieldError, formatFieldError } from "@kcp-ts/machinery/status";
import { AuthenticationConfigurationError } from "../errors.ts";
import { signatureAlgorithms } from "../jwt/algorithms.ts";
import type { ClaimOrExpression, ClaimRule, ExpressionRule, JwtIssuer } from "./jwt-issuer.ts";

export interface AuthenticationConfiguration {
  readonly issuers: readonly JwtIssuer[];
  /** Undefined when the file does not set it. */
  readonly anonymous: AnonymousConfiguration | undefined;
}

export interface AnonymousConfiguration {
  readonly enabled: boolean;
  /** The paths of anonymous requests; all paths if undefined. */
  readonly paths: readonly string[] | undefined;
}

export const issuersMax = 64;

const versions = ["v1", "v1beta1"].map((version) => `apiserver.config.k8s.io/${version}`);

/** `source` is for messages. The authenticators compile the expressions. */
export function parseAuthenticationConfiguration(
  value: unknown,
  source: string,
): AuthenticationConfiguration {
  const file = new Reader(source);
  const root = file.object(value, "", ["apiVersion", "kind", "jwt", "anonymous"]);
  if (
    root["kind"] !== "AuthenticationConfiguration" ||
    !versions.includes(String(root["apiVersion"]))
  ) {
    file.refuse(fieldError.notSupported("apiVersion", String(root["apiVersion"]), versions));
  }
  const issuers = file
    .list(root["jwt"], "jwt")
    .map((each, at) => issuerOf(file, each, `jwt[${at}]`));
  if (issuers.length > issuersMax)
    file.refuse(fieldError.tooMany("jwt", issuers.length, issuersMax));
  const urls = issuers.map(({ url }) => url);
  urls.forEach((url, at) => {
    if (urls.indexOf(url) !== at) file.refuse(fieldError.duplicate(`jwt[${at}].issuer.url`, url));
  });
  return { issuers, anonymous: anonymousOf(file, root["anonymous"]) };
}

function anonymousOf(file: Reader, value: unknown): AnonymousConfiguration | undefined {
  if (value === undefined) return undefined;
  const given = file.object(value, "anonymous", ["enabled", "conditions"]);
  const conditions = file.list(given["conditions"], "anonymous.conditions").map((each, at) => {
    const field = `anonymous.conditions[${at}]`;
    return file.text(file.object(each, field, ["path"]), "path", field);
  });
  const enabled = given["enabled"] === true;
  if (!enabled && conditions.length > 0) {
    const why = "enabled should be set to true when conditions are defined";
    file.refuse(fieldError.invalid("anonymous.conditions", conditions.length, why));
  }
  return { enabled, paths: conditions.length === 0 ? undefined : conditions };
}

function issuerOf(file: Reader, value: unknown, field: string): JwtIssuer {
  const given = file.object(value, field, [
    "issuer",
    "claimValidationRules",
    "claimMappings",
    "userValidationRules",
  ]);
  const issuer = file.object(given["issuer"], `${field}.issuer`, [
    "url",
    "discoveryURL",
    "certificateAuthority",
    "audiences",
    "audienceMatchPolicy",
  ]);
  const mappings = file.object(given["claimMappings"], `${field}.claimMappings`, [
    "username",
    "groups",
    "uid",
    "extra",
  ]);
  const at = `${field}.issuer`;
  const discoveryUrl = issuer["discoveryURL"];
  const mapped = `${field}.claimMappings`;
  const parsed: JwtIssuer = {
    url: httpsUrl(file, issuer["url"], `${at}.url`),
    discoveryUrl:
      discoveryUrl === undefined ? undefined : httpsUrl(file, discoveryUrl, `${at}.discoveryURL`),
    certificateAuthority: file.optionalText(issuer, "certificateAuthority", at),
    audiences: audiencesOf(file, issuer, at),
    algorithms: signatureAlgorithms,
    username:
      source(file, mappings["username"], `${mapped}.username`, true) ??
      file.refuse(fieldError.required(`${mapped}.username`)),
    groups: source(file, mappings["groups"], `${mapped}.groups`, true),
    uid: source(file, mappings["uid"], `${mapped}.uid`, false),
    extra: extraOf(file, mappings["extra"], `${mapped}.extra`),
    claimRules: file
      .list(given["claimValidationRules"], `${field}.claimValidationRules`)
      .map((each, index) => claimRuleOf(file, each, `${field}.claimValidationRules[${index}]`)),
    userRules: file
      .list(given["userValidationRules"], `${field}.userValidationRules`)
      .map((each, index) => ruleOf(file, each, `${field}.userValidationRules[${index}]`)),
  };
  checkEmail(file, parsed, `${mapped}.username.expression`);
  return parsed;
}

/**
 * An unverified email address proves nothing: a mapping of email addresses must check
 * email_verified.
 */
function checkEmail(file: Reader, { username, extra, claimRules }: JwtIssuer, field: string): void {
  if (!("expression" in username) || !/\bclaims\.email\b/.test(username.expression)) return;
  const texts = [
    username.expression,
    ...extra.map(({ valueExpression }) => valueExpression),
    ...claimRules.map((rule) => ("expression" in rule ? rule.expression : "")),
  ];
  if (texts.some((text) => /\bclaims\.\??email_verified\b/.test(text))) return;
  const why =
    "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression";
  file.refuse(fieldError.invalid(field, username.expression, why));
}

function audiencesOf(file: Reader, issuer: Members, field: string): string[] {
  const audiences = file.list(issuer["audiences"], `${field}.audiences`).map(String);
  const policy = issuer["audienceMatchPolicy"];
  if (audiences.length === 0 || audiences.includes("")) {
    file.refuse(fieldError.required(`${field}.audiences`));
  }
  const policyField = `${field}.audienceMatchPolicy`;
  if (policy !== undefined && policy !== "" && policy !== "MatchAny") {
    file.refuse(fieldError.notSupported(policyField, String(policy), ["MatchAny"]));
  }
  if (audiences.length > 1 && policy !== "MatchAny") {
    const why = "audienceMatchPolicy must be set to MatchAny for multiple audiences";
    file.refuse(fieldError.invalid(policyField, String(policy ?? ""), why));
  }
  return audiences;
}

function source(
  file: Reader,
  value: unknown,
  field: string,
  hasPrefix: boolean,
): ClaimOrExpression | undefined {
  if (value === undefined) return undefined;
  const given = file.object(value, field, [
    "claim",
    "expression",
    ...(hasPrefix ? ["prefix"] : []),
  ]);
  const claim = file.optionalText(given, "claim", field);
  const expression = file.optionalText(given, "expression", field);
  const prefix = file.optionalText(given, "prefix", field);
  if (claim !== undefined && expression !== undefined) {
    file.refuse(fieldError.invalid(field, "", "claim and expression can't both be set"));
  }
  if (expression !== undefined) {
    if (prefix !== undefined) {
      const why = "prefix can't be set when expression is set";
      file.refuse(fieldError.invalid(`${field}.prefix`, prefix, why));
    }
    return { expression };
  }
  // An empty value counts as absent: Go clients always write it.
  if (claim === undefined && prefix === undefined) return undefined;
  if (claim === undefined) file.refuse(fieldError.required(field));
  if (hasPrefix && prefix === undefined) file.refuse(fieldError.required(`${field}.prefix`));
  return { claim: claim as string, prefix: prefix ?? "" };
}

function extraOf(file: Reader, value: unknown, field: string): JwtIssuer["extra"] {
  const keys = new Set<string>();
  return file.list(value, field).map((each, at) => {
    const given = file.object(each, `${field}[${at}]`, ["key", "valueExpression"]);
    const key = file.text(given, "key", `${field}[${at}]`);
    const path = `${field}[${at}].key`;
    if (!/^[a-z0-9.-]+\/[^\s]+$/.test(key) || key !== key.toLowerCase()) {
      file.refuse(fieldError.invalid(path, key, "must be a domain-prefix path in lower case"));
    }
    if (/(?:^|\.)(?:kubernetes|k8s)\.io\//.test(key)) {
      file.refuse(fieldError.invalid(path, key, "kubernetes.io and k8s.io are reserved"));
    }
    // Only the server sets the extras that restrict users to clusters.
    if (/(?:^|\.)kcp\.io\//.test(key)) {
      file.refuse(fieldError.invalid(path, key, "kcp.io is reserved"));
    }
    if (keys.has(key)) file.refuse(fieldError.duplicate(path, key));
    keys.add(key);
    return { key, valueExpression: file.text(given, "valueExpression", `${field}[${at}]`) };
  });
}

function claimRuleOf(file: Reader, value: unknown, field: string): ClaimRule {
  const given = file.object(value, field, ["claim", "requiredValue", "expression", "message"]);
  const claim = file.optionalText(given, "claim", field);
  if (claim === undefined) return ruleOf(file, value, field);
  if (given["expression"] !== undefined || given["message"] !== undefined) {
    file.refuse(fieldError.invalid(field, claim, "claim and expression can't both be set"));
  }
  return { claim, requiredValue: file.optionalText(given, "requiredValue", field) ?? "" };
}

function ruleOf(file: Reader, value: unknown, field: string): ExpressionRule {
  const given = file.object(value, field, ["expression", "message"]);
  const expression = file.text(given, "expression", field);
  return { expression, message: file.optionalText(given, "message", field) ?? "" };
}

function httpsUrl(file: Reader, value: unknown, field: string): string {
  const text = typeof value === "string" ? value : "";
  if (text === "") file.refuse(fieldError.required(field));
  if (!URL.canParse(text)) file.refuse(fieldError.invalid(field, text, "it is no URL"));
  const { protocol, username, search, hash } = new URL(text);
  if (protocol !== "https:")
    file.refuse(fieldError.invalid(field, text, "URL scheme must be https"));
  if (username !== "")
    file.refuse(fieldError.invalid(field, text, "URL must not contain a username or password"));
  if (search !== "") file.refuse(fieldError.invalid(field, text, "URL must not contain a query"));
  if (hash !== "") file.refuse(fieldError.invalid(field, text, "URL must not contain a fragment"));
  return text;
}

type Members = Readonly<Record<string, unknown>>;

/** Reads the fields of a file and reports the path of an invalid one. */
class Reader {
  readonly #source: string;

  constructor(sourceName: string) {
    this.#source = sourceName;
  }

  refuse(error: FieldError): never {
    throw new AuthenticationConfigurationError(`${this.#source}: ${formatFieldError(error)}`);
  }

  object(value: unknown, field: string, known: readonly string[]): Members {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return this.refuse(fieldError.required(field));
    }
    for (const member of Object.keys(value)) {
      if (known.includes(member)) continue;
      this.refuse(
        fieldError.invalid(field === "" ? member : `${field}.${member}`, "", "unknown field"),
      );
    }
    return value as Members;
  }

  list(value: unknown, field: string): readonly unknown[] {
    if (value === undefined) return [];
    return Array.isArray(value)
      ? value
      : this.refuse(fieldError.invalid(field, "", "must be a list"));
  }

  text(members: Members, name: string, field: string): string {
    return (
      this.optionalText(members, name, field) ||
      this.refuse(fieldError.required(`${field}.${name}`))
    );
  }

  optionalText(members: Members, name: string, field: string): string | undefined {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    if (value === undefined || typeof value === "string") return value;
    return this.refuse(fieldError.invalid(`${field}.${name}`, "", "must be text"));
  }
}
