/**
 * Validates the conversion of a CRD: strategy, webhook and review versions. Paths use upstream's
 * internal names, as clients see them.
 */
import { type FieldError, fieldError } from "../status/index.ts";
import type { CrdConversion, WebhookClientConfig, WebhookService } from "./crd.ts";
import { dns1035LabelErrors, dns1123SubdomainErrors } from "./dns-names.ts";
import { truncatedValue } from "./error-collector.ts";

const acceptedReviewVersions = ["v1", "v1beta1"];

export interface ConversionOptions {
  /** Tolerated where the stored CRD already lists no known version. */
  readonly requireRecognizedVersion: boolean;
  /** Not required of a CRD that is not established yet: a condition reports it instead. */
  readonly requireValidCaBundle: boolean;
}

export function validateConversion(
  conversion: CrdConversion | undefined,
  { requireRecognizedVersion, requireValidCaBundle }: ConversionOptions,
): FieldError[] {
  const path = "spec.conversion";
  if (conversion === undefined) return [];
  const errors: FieldError[] = [];
  const { strategy, clientConfig, reviewVersions } = conversion;
  if (strategy === "") errors.push(fieldError.required(`${path}.strategy`));
  else if (strategy !== "None" && strategy !== "Webhook")
    errors.push(fieldError.notSupported(`${path}.strategy`, strategy, ["None", "Webhook"]));
  if (strategy === "Webhook") {
    errors.push(...validateClientConfig(clientConfig, `${path}.webhookClientConfig`));
    const bundle = clientConfig?.caBundle ?? "";
    if (requireValidCaBundle && bundle !== "" && !isCaBundle(bundle)) {
      const detail = "unable to load root certificates: unable to parse bytes as PEM block";
      errors.push(
        fieldError.invalid(`${path}.webhookClientConfig.caBundle`, truncatedValue(bundle), detail),
      );
    }
    errors.push(
      ...validateReviewVersions(
        reviewVersions,
        requireRecognizedVersion,
        `${path}.conversionReviewVersions`,
      ),
    );
    return errors;
  }
  const detail = "should not be set when strategy is not set to Webhook";
  if (clientConfig !== undefined)
    errors.push(fieldError.forbidden(`${path}.webhookClientConfig`, detail));
  if (reviewVersions.length > 0)
    errors.push(fieldError.forbidden(`${path}.conversionReviewVersions`, detail));
  return errors;
}

/**
 * Whether the base64 text contains a PEM certificate; the TLS connection checks the certificate
 * itself.
 */
export function isCaBundle(base64: string): boolean {
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(base64)) return false;
  const pem = atob(base64.replace(/\s+/g, "").replace(/=+$/, ""));
  return /-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/.test(pem);
}

export function hasRecognizedReviewVersion(versions: readonly string[]): boolean {
  return versions.some((version) => acceptedReviewVersions.includes(version));
}

function validateReviewVersions(
  versions: readonly string[],
  requireRecognized: boolean,
  path: string,
): FieldError[] {
  if (versions.length === 0) return [fieldError.required(path)];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, version] of versions.entries()) {
    const at = `${path}[${i}]`;
    if (seen.has(version)) {
      errors.push(fieldError.invalid(at, version, "duplicate version"));
      continue;
    }
    seen.add(version);
    for (const text of dns1035LabelErrors(version))
      errors.push(fieldError.invalid(at, version, text));
  }
  if (requireRecognized && !hasRecognizedReviewVersion(versions)) {
    const detail = `must include at least one of ${acceptedReviewVersions.join(", ")}`;
    errors.push(fieldError.invalid(path, versions, detail));
  }
  return errors;
}

function validateClientConfig(config: WebhookClientConfig | undefined, path: string): FieldError[] {
  if (config === undefined)
    return [fieldError.required(path, "required when strategy is set to Webhook")];
  const { url, service } = config;
  if (url !== undefined && service === undefined) return validateUrl(url, `${path}.url`);
  if (service !== undefined && url === undefined)
    return validateService(service, `${path}.service`);
  return [fieldError.required(path, "exactly one of url or service is required")];
}

const form = "; desired format: https://host[/path]";

function validateUrl(text: string, path: string): FieldError[] {
  const match = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(
    text,
  );
  if (match === null || /[\u0000-\u0020\u007f]/.test(text))
    return [
      fieldError.required(path, `url must be a valid URL: parse ${JSON.stringify(text)}${form}`),
    ];
  const [, scheme = "", authority = "", , query = "", fragment = ""] = match;
  const errors: FieldError[] = [];
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  if (scheme.toLowerCase() !== "https")
    errors.push(fieldError.invalid(path, scheme, `'https' is the only allowed URL scheme${form}`));
  if (host === "") errors.push(fieldError.invalid(path, host, `host must be specified${form}`));
  if (at >= 0) {
    const detail = "user information is not permitted in the URL";
    // Errors are logged, so they must not contain passwords.
    const shown = authority.slice(0, at).replace(/:.*$/s, ":xxxxx");
    errors.push(fieldError.invalid(path, shown, detail));
  }
  if (fragment.length > 1)
    errors.push(
      fieldError.invalid(path, fragment.slice(1), "fragments are not permitted in the URL"),
    );
  if (query.length > 1)
    errors.push(
      fieldError.invalid(path, query.slice(1), "query parameters are not permitted in the URL"),
    );
  return errors;
}

function validateService(service: WebhookService, path: string): FieldError[] {
  const errors: FieldError[] = [];
  // Upstream passes name and namespace in the wrong order, so each is reported under the other's
  // name.
  if (service.namespace === "") errors.push(fieldError.required(`${path}.name`));
  if (service.name === "") errors.push(fieldError.required(`${path}.namespace`));
  if (service.port < 1 || service.port > 65_535) {
    const detail = "port is not valid: must be between 1 and 65535, inclusive";
    errors.push(fieldError.invalid(`${path}.port`, service.port, detail));
  }
  const urlPath = service.path;
  if (urlPath === undefined || urlPath === "" || urlPath === "/") return errors;
  const complain = (detail: string): void => {
    errors.push(fieldError.invalid(`${path}.path`, urlPath, detail));
  };
  if (urlPath === "//") {
    complain("segment[0] may not be empty");
    return errors;
  }
  if (!urlPath.startsWith("/")) complain("must start with a '/'");
  const segments = urlPath.slice(1).replace(/\/$/, "").split("/");
  for (const [i, segment] of segments.entries()) {
    if (segment === "") complain(`segment[${i}] may not be empty`);
    else for (const text of dns1123SubdomainErrors(segment)) complain(`segment[${i}]: ${text}`);
  }
  return errors;
}
