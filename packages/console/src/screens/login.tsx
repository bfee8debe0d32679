/** The login: a token, or the way to the issuer. The address stays, and is shown afterwards. */
import { useState } from "preact/hooks";
import { KubectlLine } from "../elements/index.ts";
import { useSession } from "../session/index.ts";

export function Login({ message }: { readonly message: string | undefined }) {
  const session = useSession();
  const [token, setToken] = useState("");
  const { oidc, authentication } = session.configuration;
  const submit = (event: Event) => {
    event.preventDefault();
    session.logInWithToken(token).then(
      () => setToken(""),
      () => undefined,
    );
  };
  if (authentication === "proxy")
    return (
      <main class="login">
        <h1>kcp</h1>
        <p role="alert">{message}</p>
        <button
          type="button"
          class="primary"
          onClick={() => {
            session.logInAgain().catch(() => undefined);
          }}
        >
          Try again
        </button>
      </main>
    );
  return (
    <main class="login">
      <h1>kcp</h1>
      {message === undefined ? null : <p role="alert">{message}</p>}
      {oidc === undefined ? null : (
        <button
          type="button"
          class="primary"
          onClick={() => {
            session.logInWithOidc().catch(() => undefined);
          }}
        >
          {`Log in at ${new URL(oidc.issuer).host}`}
        </button>
      )}
      <form onSubmit={submit}>
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            value={token}
            required
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class={oidc === undefined ? "primary" : ""}>
          Log in
        </button>
      </form>
      <p class="quiet">The token stays in this tab. For a token of a service account:</p>
      <KubectlLine line="kubectl create token default" />
      <p class="quiet">With a kubeconfig on this machine, no token is needed:</p>
      <KubectlLine line="kcp console" />
    </main>
  );
}
