/** What a provider asks to see and change in this workspace, and the decision about it. */
import { type APIBinding, apiBindings } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { Dialog, ErrorNotice, KubectlLine, Loading, shellLine, Tone } from "../elements/index.ts";
import { accessTo, useLoaded, useResource } from "../live/index.ts";
import { useSession } from "../session/index.ts";
import { ActionButton } from "./action-button.tsx";
import { type Claim, claimsOf, type Decided, decide } from "./decisions.ts";

interface ClaimsProps {
  readonly cluster: string;
  readonly binding: APIBinding;
}

function nameOf({ group, resource }: Claim): string {
  return `${resource}.${group === "" ? "core" : group}`;
}

export function Claims({ cluster, binding }: ClaimsProps) {
  const client = useSession().clientIn(cluster);
  const [accepting, setAccepting] = useState<Claim | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const { name, resourceVersion = "" } = binding.metadata;
  const claims = claimsOf(binding);
  if (claims.length === 0) return <p class="quiet">The provider claims nothing here.</p>;
  const write = (claim: Claim, state: Decided["state"], selector: Decided["selector"]) => {
    setError(undefined);
    const permissionClaims = decide(binding, claim, state, selector);
    const patch = { metadata: { resourceVersion }, spec: { permissionClaims } };
    client
      .resource(apiBindings)
      .patch({ name }, { type: "merge", patch: patch as never })
      .then(() => setAccepting(undefined), setError);
  };
  return (
    <>
      {error === undefined ? null : <ErrorNotice error={error} />}
      <table class="small">
        <caption class="hidden">{`Permission claims of ${name}`}</caption>
        <thead>
          <tr>
            <th scope="col">The provider may</th>
            <th scope="col">with</th>
            <th scope="col">Decision</th>
            <th scope="col">
              <span class="hidden">Change</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {claims.map((claim) => (
            <ClaimRow
              key={`${nameOf(claim)} ${claim.identityHash}`}
              cluster={cluster}
              binding={binding}
              claim={claim}
              onAccept={() => setAccepting(claim)}
              onReject={() =>
                write(claim, "Rejected", claim.decided?.selector ?? { matchAll: true })
              }
            />
          ))}
        </tbody>
      </table>
      {accepting === undefined ? null : (
        <AcceptDialog
          cluster={cluster}
          binding={binding}
          claim={accepting}
          onClose={() => setAccepting(undefined)}
          onAccept={(selector) => write(accepting, "Accepted", selector)}
        />
      )}
    </>
  );
}

interface ClaimRowProps extends ClaimsProps {
  readonly claim: Claim;
  readonly onAccept: () => void;
  readonly onReject: () => void;
}

function ClaimRow({ cluster, binding, claim, onAccept, onReject }: ClaimRowProps) {
  const client = useSession().clientIn(cluster);
  const name = nameOf(claim);
  const button = (text: string, label: string, onClick: () => void) => (
    <ActionButton
      client={client}
      access={accessTo(apiBindings, "patch", binding.metadata)}
      label={label}
      onClick={onClick}
    >
      {text}
    </ActionButton>
  );
  const { state } = claim.decided ?? {};
  return (
    <tr>
      <td>{claim.verbs.join(", ").replace("*", "do everything")}</td>
      <th scope="row">{name}</th>
      <td>{decisionText(claim)}</td>
      <td class="actions">
        {state === "Accepted" ? null : button("Accept…", `Accept ${name}`, onAccept)}
        {state === "Rejected" ? null : button("Reject", `Reject ${name}`, onReject)}
      </td>
    </tr>
  );
}

function decisionText({ decided }: Claim) {
  if (decided === undefined) return <Tone word="Undecided" tone="warn" />;
  if (decided.state === "Rejected") return <Tone word="Rejected" tone="none" />;
  const { matchAll, matchLabels = {}, matchExpressions = [] } = decided.selector;
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const of =
    matchAll === true ? "all" : [...labels, ...matchExpressions.map((one) => one.key)].join(", ");
  return <Tone word={`Accepted: ${of}`} tone="good" />;
}

/** The command accepts a claim on all objects: one on some of them is written by hand. */
function acceptLine(binding: string, resource: string, labels: string): string {
  return labels === ""
    ? shellLine`kubectl kcp claims accept ${binding} --resource ${resource}`
    : shellLine`kubectl edit apibinding ${binding}`;
}

interface AcceptDialogProps extends ClaimsProps {
  readonly claim: Claim;
  readonly onClose: () => void;
  readonly onAccept: (selector: Decided["selector"]) => void;
}

const shownMax = 12;

/** Undefined for a text that selects by anything but equal labels. */
function labelsOf(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text.split(",").map((part) => /^\s*([^\s=,]+)=([^\s=,]*)\s*$/.exec(part));
  if (pairs.includes(null)) return undefined;
  return Object.fromEntries(pairs.map((match) => [match?.[1] ?? "", match?.[2] ?? ""]));
}

/** What the provider would see is listed before it is shown to them. */
function AcceptDialog({ cluster, binding, claim, onClose, onAccept }: AcceptDialogProps) {
  const client = useSession().clientIn(cluster);
  const [text, setText] = useState("");
  const matchLabels = labelsOf(text);
  const isValid = text === "" || matchLabels !== undefined;
  const selector = matchLabels === undefined ? { matchAll: true } : { matchLabels };
  return (
    <Dialog title={`Accept the claim on ${nameOf(claim)}`} onClose={onClose}>
      <p>
        {`The provider of ${binding.metadata.name} may then do with the selected objects: ${claim.verbs.join(", ").replace("*", "everything")}.`}
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isValid) onAccept(selector);
        }}
      >
        <label>
          Only objects with these labels; all if empty
          <input
            value={text}
            placeholder="app=web"
            aria-invalid={!isValid}
            onInput={(event) => setText(event.currentTarget.value.trim())}
          />
        </label>
        {isValid ? null : <p role="alert">Labels are written as app=web,tier=front.</p>}
        <Revealed cluster={cluster} claim={claim} labels={isValid ? text : ""} />
        <KubectlLine line={acceptLine(binding.metadata.name, nameOf(claim), text)} />
        <footer>
          <ActionButton
            client={client}
            access={accessTo(apiBindings, "patch", binding.metadata)}
            type="submit"
            class="primary"
            isReady={isValid}
          >
            Accept
          </ActionButton>
        </footer>
      </form>
    </Dialog>
  );
}

interface RevealedProps {
  readonly cluster: string;
  readonly claim: Claim;
  readonly labels: string;
}

function Revealed({ cluster, claim, labels }: RevealedProps) {
  const client = useSession().clientIn(cluster);
  const name = claim.group === "" ? claim.resource : `${claim.resource}.${claim.group}`;
  const resource = useResource(client, name);
  const found = useLoaded(
    async (signal) => {
      const query = {
        limit: shownMax,
        signal,
        ...(labels === "" ? {} : { labelSelector: labels }),
      };
      return await client.resource(resource.result as never).listMetadata(query);
    },
    resource.result ? `${name} ${labels}` : undefined,
  );
  const error = resource.error ?? found.error;
  const { items = [], metadata } = found.result ?? {};
  const count = items.length + (metadata?.remainingItemCount ?? 0);
  return (
    <section class="block" aria-label="What the provider would see">
      {error !== undefined ? <ErrorNotice error={error} /> : null}
      {resource.result === null ? (
        <p>{`No ${name} are served here now: none would be seen.`}</p>
      ) : null}
      {found.result === undefined && error === undefined && resource.result !== null ? (
        <Loading what="what it would reveal" />
      ) : null}
      {found.result === undefined ? null : (
        <p>{`It reveals ${count} ${claim.resource} now, and later ones as they are created.`}</p>
      )}
      <ul class="names">
        {items.map(({ metadata: one }) => (
          <li key={one.uid}>
            <bdi>{[one.namespace, one.name].filter(Boolean).join("/")}</bdi>
          </li>
        ))}
      </ul>
      {count > items.length ? <p>{`and ${count - items.length} more`}</p> : null}
    </section>
  );
}
