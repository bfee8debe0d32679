/**
 * Maps verified claims to a user: by names of claims, or by CEL expressions over `claims`; then
 * validates rules over `claims` and `user`.
 *
 * Semantics and messages follow Kubernetes' structured authentication configuration. All
 * expressions are compiled once, when the configuration is read, and an expression that does not
 * compile fails it.
 */
import {
  BOOL,
  CelError,
  compile,
  declaredDynamic,
  kubernetesEnvironment,
  type Program,
  type Type,
  toJson,
} from "@kcp-ts/machinery/cel";
import type { UserInfo } from "../../request/index.ts";
import { AuthenticationConfigurationError, AuthenticationError } from "../errors.ts";
import type { Claims } from "../jwt/json-web-token.ts";
import type { ClaimOrExpression, ClaimRule, ExpressionRule, JwtIssuer } from "./jwt-issuer.ts";

export type ClaimMapping = (claims: Claims) => UserInfo;

/** The number of groups of one token. */
export const groupsMax = 2000;

type Read<Value> = (claims: Claims) => Value;

/**
 * Throws `AuthenticationConfigurationError`; the returned function throws `AuthenticationError`.
 */
export function compileMapping(issuer: JwtIssuer): ClaimMapping {
  const username = usernameReader(issuer.username);
  const groups = issuer.groups === undefined ? noGroups : groupsReader(issuer.groups);
  const uid = issuer.uid === undefined ? noUid : uidReader(issuer.uid);
  const extras = issuer.extra.map(({ key, valueExpression }) => ({
    key,
    values: valuesReader(program(valueExpression, claimsEnvironment), `extra ${key}`),
  }));
  const claimRules = issuer.claimRules.map(claimRule);
  const userRules = issuer.userRules.map((rule) => expressionRule(rule, userEnvironment, "user"));
  return (claims) => {
    for (const check of claimRules) check(claims);
    const extra = new Map<string, readonly string[]>();
    for (const { key, values } of extras) {
      const found = values(claims);
      if (found.length > 0) extra.set(key, found);
    }
    const id = uid(claims);
    const user: UserInfo = {
      username: username(claims),
      ...(id === "" ? {} : { uid: id }),
      groups: groups(claims),
      ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
    };
    if (userRules.length > 0) {
      const seen = { ...user, uid: id, extra: user.extra ?? {} };
      for (const check of userRules) check(seen);
    }
    return user;
  };
}

const noGroups = () => [];
const noUid = () => "";

function usernameReader(source: ClaimOrExpression): Read<string> {
  const read =
    "claim" in source
      ? claimReader(source.claim, source.prefix)
      : textReader(program(source.expression, claimsEnvironment), "username");
  const isEmail = "claim" in source && source.claim === "email";
  return (claims) => {
    const name = read(claims);
    if (name === "") throw refusal("its user name is empty");
    // An unverified email address proves nothing.
    if (isEmail && Object.hasOwn(claims, "email_verified") && claims["email_verified"] !== true) {
      throw refusal("its email is not verified");
    }
    return name;
  };
}

function claimReader(claim: string, prefix: string): Read<string> {
  return (claims) => {
    const value = memberOf(claims, claim);
    if (typeof value !== "string") throw refusal(`the claim ${claim} is missing or no text`);
    return value === "" ? "" : prefix + value;
  };
}

function uidReader(source: ClaimOrExpression): Read<string> {
  return "claim" in source
    ? claimReader(source.claim, "")
    : textReader(program(source.expression, claimsEnvironment), "uid");
}

/** One group as a string, or several as a list; none when the claim is absent. */
function groupsReader(source: ClaimOrExpression): Read<readonly string[]> {
  if ("expression" in source) {
    return valuesReader(program(source.expression, claimsEnvironment), "groups");
  }
  const { claim, prefix } = source;
  return (claims) => {
    const value = memberOf(claims, claim);
    const groups = value === undefined ? [] : textsOf(value, `the claim ${claim}`);
    return prefix === "" ? groups : groups.map((group) => prefix + group);
  };
}

function claimRule(rule: ClaimRule): (claims: Claims) => void {
  if ("expression" in rule) return expressionRule(rule, claimsEnvironment, "claims");
  const { claim, requiredValue } = rule;
  return (claims) => {
    if (memberOf(claims, claim) !== requiredValue) {
      throw refusal(`the claim ${claim} is not what it must be`);
    }
  };
}

function expressionRule(
  { expression, message }: ExpressionRule,
  environment: typeof claimsEnvironment,
  variable: "claims" | "user",
): (value: object) => void {
  const compiled = program(expression, environment, [BOOL]);
  return (value) => {
    const { result } = compiled.evaluate({ [variable]: value });
    if (result === true) return;
    const why = result instanceof CelError ? result.message : message;
    throw refusal(`validation expression '${expression}' failed: ${why}`);
  };
}

const claimsEnvironment = kubernetesEnvironment.extend({
  variables: new Map([["claims", declaredDynamic]]),
});
const userEnvironment = kubernetesEnvironment.extend({
  variables: new Map([["user", declaredDynamic]]),
});

function program(
  expression: string,
  environment: typeof claimsEnvironment,
  resultTypes?: readonly Type[],
): Program {
  const compiled = compile(
    expression,
    environment,
    resultTypes === undefined ? {} : { resultTypes },
  );
  if (compiled.ok) return compiled.program;
  throw new AuthenticationConfigurationError(
    `the expression ${JSON.stringify(expression)} does not compile: ${compiled.message}`,
  );
}

function textReader(compiled: Program, what: string): Read<string> {
  return (claims) => {
    const value = evaluate(compiled, claims, what);
    if (typeof value !== "string") throw refusal(`the expression for ${what} gives no text`);
    return value;
  };
}

function valuesReader(compiled: Program, what: string): Read<readonly string[]> {
  return (claims) => {
    const value = evaluate(compiled, claims, what);
    if (value === null || value === "") return [];
    return textsOf(value, `the expression for ${what}`).filter((text) => text !== "");
  };
}

function evaluate(compiled: Program, claims: Claims, what: string): unknown {
  const value = toJson(compiled.evaluate({ claims }).result);
  if (value instanceof CelError) throw refusal(`the expression for ${what}: ${value.message}`);
  return value;
}

function textsOf(value: unknown, what: string): readonly string[] {
  const list = Array.isArray(value) ? value : [value];
  if (list.length > groupsMax) throw refusal(`${what} gives more than ${groupsMax} values`);
  if (list.every((each) => typeof each === "string")) return list as string[];
  throw refusal(`${what} gives neither text nor a list of texts`);
}

/** Own members only: a token can contain a claim of any name. */
function memberOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

function refusal(reason: string): AuthenticationError {
  return new AuthenticationError("invalid-token", `token refused: ${reason}`);
}
