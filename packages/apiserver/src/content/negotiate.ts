/**
 * Selects the format of the response by the Accept header. Most clients send one of a few texts, so
 * results are cached.
 */
import { statusError } from "@kcp-ts/machinery/status";
import { type ApiRequest, header } from "../request/api-request.ts";

export type MediaType = "application/json" | "application/yaml";

/**
 * The format of objects. Table and metadata are transformations that a clause requests with `as`,
 * `g` and `v`.
 */
export interface ResponseFormat {
  readonly mediaType: MediaType;
  readonly as: "object" | "table" | "partial" | "discovery";
  /** meta.k8s.io's version for Tables and metadata. */
  readonly version: string;
}

/**
 * The transformations that the endpoint supports. A clause that requests another one is skipped.
 */
export interface SupportedFormats {
  readonly table?: boolean;
  readonly partial?: "PartialObjectMetadata" | "PartialObjectMetadataList" | undefined;
  readonly discovery?: boolean;
}

export const acceptedMediaTypes = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

const plainJson: ResponseFormat = { mediaType: "application/json", as: "object", version: "" };
const remembered = new Map<string, ResponseFormat>();
const rememberedMax = 1000;
/** Real clients send a few hundred characters; longer headers are not cached. */
const rememberedLengthMax = 1000;

export function negotiate(accept: string | undefined, offers: SupportedFormats): ResponseFormat {
  if (accept === undefined || accept === "" || accept === "*/*" || accept === "application/json")
    return plainJson;
  const key = `${accept}|${offers.table}|${offers.partial}|${offers.discovery}`;
  let form = remembered.get(key);
  if (form === undefined) {
    form = parseAccept(accept, offers);
    if (accept.length > rememberedLengthMax) return form;
    if (remembered.size >= rememberedMax) remembered.clear();
    remembered.set(key, form);
  }
  return form;
}

function parseAccept(accept: string, offers: SupportedFormats): ResponseFormat {
  const clauses = accept
    .split(",")
    .map((text, order) => ({ ...parseClause(text), order }))
    .filter((clause) => clause.quality > 0)
    .sort((a, b) => b.quality - a.quality || a.order - b.order);
  for (const clause of clauses) {
    const form = formOf(clause, offers);
    if (form !== undefined) return form;
  }
  throw statusError.notAcceptable(acceptedMediaTypes);
}

interface Clause {
  readonly type: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

function parseClause(text: string): Clause {
  const [type, ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const [name, value = ""] = part.split("=");
    parameters.set((name as string).trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1"));
  }
  const quality = Number(parameters.get("q") ?? 1);
  return {
    type: (type as string).toLowerCase(),
    quality: Number.isFinite(quality) ? quality : 0,
    parameters,
  };
}

/** Protobuf is accepted, never sent: clients that request it list JSON, too. */
function formOf(
  { type, parameters }: Clause,
  offers: SupportedFormats,
): ResponseFormat | undefined {
  const mediaType = mediaTypeOf(type);
  if (mediaType === undefined) return undefined;
  const as = parameters.get("as");
  if (as === undefined || as === "") return { ...plainJson, mediaType };
  const group = parameters.get("g");
  const version = parameters.get("v") ?? "";
  if (group === "meta.k8s.io" && (version === "v1" || version === "v1beta1")) {
    if (as === "Table" && offers.table) return { mediaType, as: "table", version };
    if (as === offers.partial) return { mediaType, as: "partial", version };
    if (as === "PartialObjectMetadata" && offers.partial === "PartialObjectMetadataList") {
      throw statusError.notAcceptableForm(
        `you requested ${as}, but the requested object is a list`,
      );
    }
    if (as === "PartialObjectMetadataList" && offers.partial === "PartialObjectMetadata") {
      throw statusError.notAcceptableForm(
        `you requested ${as}, but the requested object is not a list`,
      );
    }
  }
  if (
    group === "apidiscovery.k8s.io" &&
    version === "v2" &&
    as === "APIGroupDiscoveryList" &&
    offers.discovery
  ) {
    return { mediaType: "application/json", as: "discovery", version };
  }
  return undefined;
}

function mediaTypeOf(type: string): MediaType | undefined {
  switch (type) {
    case "*/*":
    case "application/*":
    case "application/json":
      return "application/json";
    case "application/yaml":
      return "application/yaml";
    default:
      return undefined;
  }
}

/**
 * Whether the response is for a person: by its query, or by a browser or curl. Called for every
 * request.
 */
export function wantsPretty({ target, headers }: Pick<ApiRequest, "target" | "headers">): boolean {
  if (target.includes("pretty")) {
    const asked = new URLSearchParams(target.slice(target.indexOf("?") + 1)).get("pretty");
    if (asked !== null && asked !== "") return truths.has(asked);
  }
  const agent = headers["user-agent"];
  if (typeof agent === "string" && people.some((each) => agent.startsWith(each))) return true;
  const accept = headers["accept"];
  return typeof accept === "string" && accept.includes("pretty") && acceptsPretty(headers);
}

const people = ["curl", "Wget", "Mozilla/5.0"];
/** The values of Go's strconv.ParseBool. */
const truths = new Set(["1", "t", "T", "true", "TRUE", "True"]);

function acceptsPretty(headers: ApiRequest["headers"]): boolean {
  const [, value] =
    /;\s*pretty=("?)([^",;]*)\1/.exec(header(headers, "accept") ?? "")?.slice(1) ?? [];
  return value !== undefined && truths.has(value);
}
