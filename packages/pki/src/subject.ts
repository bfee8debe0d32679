/**
 * The subject of a certificate: for Kubernetes a user (common name) and its groups (organizations).
 *
 * Only these two attributes are written and parsed; others are reported, so that the signer can
 * decide.
 */
import { type DerElement, DerError, readChildren, readObjectIdentifier } from "./der-reader.ts";
import { der, derTag } from "./der-writer.ts";
import { objectIdentifier } from "./object-identifiers.ts";

export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  /** Set by the signer: not read from requests. */
  readonly organizationalUnits?: readonly string[];
}

export interface ParsedSubject {
  /** Empty when there is none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Object identifiers of the attributes that are neither. */
  readonly otherAttributes: readonly string[];
}

/**
 * Organizations first, as most tools print them; each in a set of its own, so that their order is
 * kept.
 */
export function encodeSubject(subject: Subject): Buffer {
  const { commonName, organizations = [], organizationalUnits = [] } = subject;
  return der.sequence(
    ...organizations.map((organization) => attribute(objectIdentifier.organization, organization)),
    ...organizationalUnits.map((unit) => attribute(objectIdentifier.organizationalUnit, unit)),
    attribute(objectIdentifier.commonName, commonName),
  );
}

/**
 * Throws `DerError` for an ambiguous name: unusual string types, control characters, two common
 * names.
 */
export function decodeSubject(element: DerElement | undefined): ParsedSubject {
  const commonNames: string[] = [];
  const organizations: string[] = [];
  const otherAttributes: string[] = [];
  for (const set of readChildren(element, derTag.sequence)) {
    for (const pair of readChildren(set, derTag.set)) {
      const [type, value] = readChildren(pair, derTag.sequence);
      const identifier = readObjectIdentifier(type);
      if (identifier === objectIdentifier.commonName) commonNames.push(text(value));
      else if (identifier === objectIdentifier.organization) organizations.push(text(value));
      else otherAttributes.push(identifier);
    }
  }
  if (commonNames.length > 1) throw new DerError("the subject has more than one common name");
  return { commonName: commonNames[0] ?? "", organizations, otherAttributes };
}

function attribute(type: string, value: string): Buffer {
  return der.setOfOne(der.sequence(der.objectIdentifier(type), der.utf8String(value)));
}

function text(element: DerElement | undefined): string {
  const tag = element?.tag;
  if (
    element === undefined ||
    (tag !== derTag.utf8String && tag !== derTag.printableString && tag !== derTag.ia5String)
  ) {
    throw new DerError("a name in the subject is not a UTF-8, printable or IA5 string");
  }
  let value: string;
  try {
    value = strictUtf8.decode(element.content);
  } catch (cause) {
    throw new DerError("a name in the subject is not valid UTF-8", { cause });
  }
  if (/\p{Cc}/u.test(value)) throw new DerError("a name in the subject has control characters");
  return value;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
