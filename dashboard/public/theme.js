// Runs before the first paint, so that nobody who chose dark sees a white flash. A file of its own: the console's
// content security policy allows no inline script.
try {
  const chosen = localStorage.getItem('parley.theme')
  const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
} catch {
  // Storage may be forbidden; light is a fine answer then.
}
