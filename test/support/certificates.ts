import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Certificates for tests, good and bad, made by openssl and gone with the process. */
export interface Certificate {
  /** Both in PEM. */
  key: string
  cert: string
}

export interface Authority {
  /** The certificate that clients must trust, in PEM. */
  cert: string
  issue(host: string, options?: { isExpired?: boolean }): Certificate
  /** A certificate that vouches for itself. */
  selfSigned(host: string): Certificate
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

export function createAuthority(): Authority {
  const authority = selfSigned('Parley test authority', [])
  return {
    cert: authority.cert,
    issue: (host, options) => issued(authority, host, options?.isExpired === true),
    selfSigned: (host) => selfSigned(host, ['-addext', `subjectAltName=DNS:${host}`]),
  }
}

function selfSigned(name: string, extensions: string[]): Certificate {
  return inFolder((folder) => {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    openssl(
      'req',
      '-x509',
      ...NEW_KEY,
      '-keyout',
      key,
      '-out',
      cert,
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
      ...extensions,
    )
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  })
}

function issued(authority: Certificate, host: string, isExpired: boolean): Certificate {
  return inFolder((folder) => {
    const path = (name: string) => join(folder, name)
    writeFileSync(path('ca.key'), authority.key)
    writeFileSync(path('ca.pem'), authority.cert)
    writeFileSync(path('names'), `subjectAltName=DNS:${host}\n`)
    openssl('req', '-new', ...NEW_KEY, '-keyout', path('key.pem'), '-out', path('request'), '-subj', `/CN=${host}`)
    const signing = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial', '-extfile', path('names')]
    const days = ['-days', isExpired ? '-1' : '2']
    openssl('x509', '-req', '-in', path('request'), '-out', path('cert.pem'), ...signing, ...days)
    return { key: readFileSync(path('key.pem'), 'utf8'), cert: readFileSync(path('cert.pem'), 'utf8') }
  })
}

function openssl(...options: string[]): void {
  execFileSync('openssl', options, { stdio: ['ignore', 'ignore', 'pipe'] })
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'parley-certificates-'))
  try {
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
