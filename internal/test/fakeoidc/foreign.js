// Starts npm's oidc-provider, which is certified by the OpenID Foundation, for one
// client: node foreign.js REDIRECT CLIENT SECRET. It prints its address. Its
// own pages for developers take any name as a person's.
'use strict'

const http = require('node:http')
const { pathToFileURL } = require('node:url')

const [redirect, client_id, client_secret] = process.argv.slice(2)
const people = {
  maya: { name: 'Maya Lind', email: 'Maya@Example.com', email_verified: true },
  tom: { name: 'Tom Okafor', email: 'tom@example.com', email_verified: false },
}

async function main() {
  const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')))
  const server = http.createServer()
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id, client_secret, redirect_uris: [redirect] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    pkce: { required: () => true },
    // Who asks for tokens for a resource gets them as JWTs that say whose they are.
    features: {
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        getResourceServerInfo: (ctx, resource) => ({ scope: 'documents templates webhooks account:read', audience: resource, accessTokenFormat: 'jwt' }),
      },
    },
    extraTokenClaims: (ctx, token) => people[token.accountId] && { email: people[token.accountId].email, email_verified: people[token.accountId].email_verified },
    cookies: { keys: ['of a test'] },
    findAccount: (ctx, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
  })
  server.on('request', provider.callback())
  process.stdout.write(issuer + '\n')
  process.stdin.on('end', () => process.exit(0)).resume() // It ends with the test.
}

main()
