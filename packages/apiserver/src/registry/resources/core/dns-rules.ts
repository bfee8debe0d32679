/** Rules of a Pod's name service, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { ipAddressErrors } from "../address-rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const serversMax = 3;
const searchesMax = 32;
const searchCharactersMax = 2048;

export function dnsErrors(spec: JsonObject, at: string): FieldError[] {
  const config = objectIn(spec, "dnsConfig");
  const [servers, searches] = [listIn(config["nameservers"]), listIn(config["searches"])];
  if (spec["dnsPolicy"] === "None") {
    const [place, what] = isJsonObject(spec["dnsConfig"])
      ? [`${at}.nameservers`, "at least one DNS nameserver"]
      : [at, "`dnsConfig`"];
    if (servers.length === 0)
      return [fieldError.required(place, `must provide ${what} when \`dnsPolicy\` is None`)];
  }
  const errors: FieldError[] = [];
  const tooMuch = (member: string, detail: string) =>
    errors.push(
      fieldError.invalid(
        `${at}.${member}`,
        config[member] as JsonValue,
        `must not have more than ${detail}`,
      ),
    );
  if (servers.length > serversMax) tooMuch("nameservers", `${serversMax} nameservers`);
  errors.push(...itemErrors<string>(servers as JsonValue, `${at}.nameservers`, ipAddressErrors));
  if (searches.length > searchesMax) tooMuch("searches", `${searchesMax} search paths`);
  if (searches.join(" ").length > searchCharactersMax)
    tooMuch("searches", `${searchCharactersMax} characters (including spaces) in the search list`);
  return [
    ...errors,
    ...itemErrors<string>(searches as JsonValue, `${at}.searches`, searchErrors),
    ...itemErrors<JsonObject>(config["options"], `${at}.options`, (option, place) =>
      textIn(option, "name") === "" ? [fieldError.required(place, "must not be empty")] : [],
    ),
  ];
}

const searchText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const searchPattern = /^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;

/** A domain, whose labels may have underscores. */
function searchErrors(search: string, at: string): FieldError[] {
  if (search === ".") return [];
  const domain = search.replace(/\.$/, "");
  const isLong = dnsSubdomainErrors(domain).some((text) => text.startsWith("must be no more"));
  const errors = isLong ? [fieldError.invalid(at, domain, "must be no more than 253 bytes")] : [];
  return searchPattern.test(domain)
    ? errors
    : [...errors, fieldError.invalid(at, domain, searchText)];
}
