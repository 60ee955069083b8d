import type { FieldPath, FieldValues, UseFormReturn } from 'react-hook-form'
import type { Item } from '../../api.ts'
import { FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { Select } from '../../components/select.tsx'
import { useApi } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'

/** Fields that every feed has, wherever its file comes from. */

export type Campaign = Item<'GET /api/advertisers/:advertiser/campaigns'>

/** Undefined while they are loaded: until then no form can offer them. */
export function useCampaigns(): Campaign[] | undefined {
  const { id: advertiser } = useAdvertiser()
  return useApi('GET /api/advertisers/:advertiser/campaigns', { params: { advertiser } }).data?.items
}

interface FieldProps<T extends FieldValues> {
  form: UseFormReturn<T>
  name: FieldPath<T>
}

export function NameField<T extends FieldValues>({ form, name }: FieldProps<T>) {
  return (
    <FormField form={form} name={name} label="Name" hint="For you." rules={{ required: 'Enter a name.' }}>
      {(field) => <Input {...field} placeholder="All products" autoComplete="off" />}
    </FormField>
  )
}

/** The campaign to which the products of a feed belong. Without a campaign there is nothing to add them to. */
export function CampaignField<T extends FieldValues>({
  form,
  name,
  campaigns,
}: FieldProps<T> & { campaigns: Campaign[] }) {
  const { id } = useAdvertiser()
  if (campaigns.length === 0) {
    return (
      <Notice tone="warn" action={<Link to={`/advertisers/${id}/campaigns`}>Campaigns</Link>}>
        A feed belongs to a campaign, and there is none yet. Create one first.
      </Notice>
    )
  }
  const options = campaigns.map((campaign) => ({ value: campaign.id, label: campaign.name }))
  return (
    <FormField form={form} name={name} label="Campaign" hint="All products of the feed belong to it.">
      {(field) => <Select {...field} options={options} />}
    </FormField>
  )
}

const CODE = /^\s*(?:[A-Za-z]{3})?\s*$/

export function CurrencyField<T extends FieldValues>({ form, name }: FieldProps<T>) {
  return (
    <FormField
      form={form}
      name={name}
      label="Currency"
      hint="Only if the prices in the file say none, as in Shopify’s export: EUR, USD, GBP."
      rules={{ validate: (typed) => CODE.test(String(typed)) || 'Enter a code of three letters, such as EUR.' }}
    >
      {(field) => <Input {...field} maxLength={3} autoComplete="off" className="font-mono uppercase" />}
    </FormField>
  )
}
